#pragma once

#include <cstddef>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"

namespace scoll::transport {

/// Checks that an option's value lies within both limits. Error: `invalid_argument`, naming the option.
inline status check_range(const char* option, std::size_t value, std::size_t least, std::size_t most) {
  if (value >= least && value <= most) return {};
  return make_error(errc::invalid_argument, "{} is {}, not in {}..{}", option, value, least, most);
}

}  // namespace scoll::transport
