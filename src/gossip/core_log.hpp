#pragma once

#include "../../include/coro/error_format.hpp"
#include "../../include/gossip/core.hpp"

namespace scoll::gossip {

/// A line of at most so many bytes, made on the stack.
template <class... Args>
void core::log(log_level level, std::uint64_t remote, const char* format,
               const Args&... args) const noexcept {
  if (options_.log == nullptr || level > options_.log->most()) return;
  char text[256];
  const auto end = fmt::format_to_n(text, sizeof text, fmt::runtime(format), args...);
  options_.log->on_log(level, clock_.now(), remote, {text, end.size < sizeof text ? end.size : sizeof text});
}

}  // namespace scoll::gossip
