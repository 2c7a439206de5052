// expect-error: use of deleted function|call to deleted function
#include "scoll/collective/bcast.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
    std::string path;
  };
  void execute(const request&, scoll::bcast_context&) {}
};

scoll::task<bool> ask(scoll::group<service> group) {
#ifdef SCOLL_CONTROL
  const service::request named{"/etc"};
  auto r = co_await scoll::bcast(group, named);
#else
  auto r = co_await scoll::bcast(group, service::request{"/etc"});
#endif
  co_return r.ok();
}
