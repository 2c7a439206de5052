#pragma once

#include <cstdint>
#include <string_view>

namespace scoll::gossip {

enum class log_level : std::uint8_t { error, warning, info, debug };

std::string_view to_string(log_level level) noexcept;

/// Who is told what goes on. Changes of verdicts, refusals and alarms are told, single messages and
/// entries are not.
class log_sink {
 public:
  static constexpr std::uint64_t no_clock = UINT64_MAX;

  /// Lines above this level are not even made.
  virtual log_level most() const noexcept { return log_level::info; }
  /// `clock` is the cluster clock here, `remote_clock` that of the message concerned, or `no_clock`. `text`
  /// is valid until this returns.
  virtual void on_log(log_level level, std::uint64_t clock, std::uint64_t remote_clock,
                      std::string_view text) noexcept = 0;

 protected:
  ~log_sink() = default;
};

}  // namespace scoll::gossip
