// expect-error: the name of a function has 1 to 64 characters
#include "scoll/ship/remote_function.hpp"

#ifdef SCOLL_CONTROL
constexpr scoll::remote_function<std::uint32_t> f{
    "1234567890123456789012345678901234567890123456789012345678901234"};
#else
constexpr scoll::remote_function<std::uint32_t> f{
    "12345678901234567890123456789012345678901234567890123456789012345"};
#endif

int main() {
  return f.name().empty() ? 1 : 0;
}
