// expect-error: a result outlives the message it came in
#include "scoll/ship/remote_function.hpp"

#ifdef SCOLL_CONTROL
using answer_text = std::string;
#else
using answer_text = scoll::wire::borrowed_string;
#endif
[[maybe_unused]] constexpr scoll::remote_function<std::uint32_t, answer_text> name_of{"test.name_of"};
