// expect-error: the argument cannot be encoded
#include "scoll/ship/remote_function.hpp"

struct question {
#ifdef SCOLL_CONTROL
  std::uint64_t where;
#else
  const char* where;
#endif
};
[[maybe_unused]] constexpr scoll::remote_function<question> ask{"test.ask"};
