// expect-error: constant|constexpr
#include "scoll/ship/remote_function.hpp"

scoll::remote_function<std::uint32_t> make(const char (&name)[5]) {
#ifdef SCOLL_CONTROL
  static_cast<void>(name);
  return scoll::remote_function<std::uint32_t>{"name"};
#else
  return scoll::remote_function<std::uint32_t>{name};
#endif
}
