#pragma once

#include <cstdint>
#include <string_view>

namespace scoll::gossip {

enum class log_level : std::uint8_t { error, warning, info, debug };

std::string_view to_string(log_level level) noexcept;

/// A receiver of log lines. It is told of changed verdicts, refusals and alarms, but not of single messages
/// and entries.
class log_sink {
 public:
  static constexpr std::uint64_t no_clock = UINT64_MAX;

  /// The most detailed level wanted. Lines above it are not even formatted.
  virtual log_level most() const noexcept { return log_level::info; }
  /// Receives one line. `clock` is the cluster clock here, `remote_clock` that of the message concerned;
  /// either may be `no_clock`. `text` is valid until this returns.
  virtual void on_log(log_level level, std::uint64_t clock, std::uint64_t remote_clock,
                      std::string_view text) noexcept = 0;

 protected:
  ~log_sink() = default;
};

}  // namespace scoll::gossip
