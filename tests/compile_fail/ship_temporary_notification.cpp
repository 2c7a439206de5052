// expect-error: use of deleted function|call to deleted function
#include "scoll/ship/ship.hpp"

struct news {
  std::vector<std::uint32_t> all;
};
constexpr scoll::remote_function<news> tell{"test.tell"};

scoll::task<bool> go(scoll::node& node) {
#ifdef SCOLL_CONTROL
  const news named{{1, 2}};
  auto r = co_await scoll::notify(node, 2, tell, named);
#else
  auto r = co_await scoll::notify(node, 2, tell, news{{1, 2}});
#endif
  co_return r.has_value();
}
