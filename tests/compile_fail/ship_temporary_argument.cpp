// expect-error: use of deleted function|call to deleted function
#include "scoll/ship/ship.hpp"

struct question {
  std::string path;
};
constexpr scoll::remote_function<question, std::uint64_t> ask{"test.ask"};

scoll::task<bool> go(scoll::node& node) {
#ifdef SCOLL_CONTROL
  const question named{"/etc"};
  auto r = co_await scoll::ship(node, 2, ask, named);
#else
  auto r = co_await scoll::ship(node, 2, ask, question{"/etc"});
#endif
  co_return r.has_value();
}
