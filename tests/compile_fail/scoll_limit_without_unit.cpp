// expect-error: could not convert|no viable conversion|cannot convert
#include "scoll/collective/options.hpp"

#ifdef SCOLL_CONTROL
constexpr scoll::bcast_options limited{.deadline = std::chrono::milliseconds(50)};
#else
constexpr scoll::bcast_options limited{.deadline = 50};
#endif
