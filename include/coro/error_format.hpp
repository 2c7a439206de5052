#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "error.hpp"

namespace scoll {

/// An `error` whose text is formatted in place, without allocation; longer texts are cut.
template <class... Args>
error make_error(errc code, fmt::format_string<Args...> format, Args&&... args) {
  char text[error::text_capacity];
  const auto end = fmt::format_to_n(text, sizeof text, format, std::forward<Args>(args)...);
  return {code, {text, end.size < sizeof text ? end.size : sizeof text}};
}

/// One line for a person: "deadline_exceeded: 3 members did not answer (detail 4)".
std::string describe(const error& e);

}  // namespace scoll
