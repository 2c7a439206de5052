#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace scoll {

/// How much a line of the log matters, from the most to the least.
enum class log_level : std::uint8_t { error, warning, info, debug };

std::string_view to_string(log_level level) noexcept;

/// A receiver of a node's log lines (`node_options::log`). The library itself writes no log anywhere.
class log_sink {
 public:
  /// Receives one line, without a newline. `text` is valid until the call returns. A node sends lines of one
  /// kind about one peer at most once in ten seconds; the next line says how many were left out. Thread: the
  /// node's.
  virtual void log(log_level level, std::string_view text) noexcept = 0;

 protected:
  ~log_sink() = default;
};

}  // namespace scoll
