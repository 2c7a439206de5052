// expect-error: could not convert|no viable conversion|cannot convert
#include "scoll/collective/options.hpp"

#ifdef SCOLL_CONTROL
[[maybe_unused]] constexpr scoll::bcast_options limited{.deadline = std::chrono::milliseconds(50)};
#else
[[maybe_unused]] constexpr scoll::bcast_options limited{.deadline = 50};
#endif
