// expect-error: use of deleted function|call to deleted member function
#include "scoll/node.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {};
  void execute(const request&, scoll::bcast_context&) {}
};

scoll::task<bool> create(scoll::node& self) {
#ifdef SCOLL_CONTROL
  const std::vector<scoll::target> named{{2, {}}, {3, {}}};
  auto group = co_await self.create_group<service>(named);
#else
  auto group = co_await self.create_group<service>({{2, {}}, {3, {}}});
#endif
  co_return group.has_value();
}
