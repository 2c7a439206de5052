#pragma once

#include <string_view>

#include "gossip/core.hpp"
#include "scoll/coro/error_format.hpp"

namespace scoll::gossip {

/// Logs a line of at most this many bytes, formatted on the stack.
template <class... Args>
void core::log(log_level level, std::uint64_t remote, const char* format,
               const Args&... args) const noexcept {
  if (options_.log == nullptr || level > options_.log->most()) return;
  char text[256];
  std::string_view line;
  try {
    const auto end = fmt::format_to_n(text, sizeof text, fmt::runtime(format), args...);
    line = {text, end.size < sizeof text ? end.size : sizeof text};
  } catch (...) {
    line = format;  // unformatted, because it does not fit its arguments
  }
  options_.log->on_log(level, clock_.now(), remote, line);
}

}  // namespace scoll::gossip
