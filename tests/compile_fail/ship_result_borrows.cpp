// expect-error: a result outlives the message it came in
#include "scoll/function.hpp"

#ifdef SCOLL_CONTROL
using text = std::string;
#else
using text = scoll::wire::borrowed_string;
#endif
constexpr scoll::function<std::uint32_t, text> name_of{"test.name_of"};
