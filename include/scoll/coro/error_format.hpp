#pragma once

#include <fmt/format.h>

#include "scoll/coro/error.hpp"

namespace scoll {

namespace detail {
error format_error(errc code, fmt::string_view format, fmt::format_args args) noexcept;
}

/// Makes an `error` whose text is formatted in place, without allocation. A longer text is cut as `error`
/// describes. If a formatter throws, the text is `format` itself.
template <class... Args>
error make_error(errc code, fmt::format_string<Args...> format, Args&&... args) noexcept {
  return detail::format_error(code, format, fmt::make_format_args(args...));
}

/// Describes an error in one line for a person: "deadline_exceeded: 3 members did not answer (detail 4)".
std::string describe(const error& e);

}  // namespace scoll
