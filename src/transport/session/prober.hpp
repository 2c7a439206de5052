#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "scoll/coro/time.hpp"

namespace scoll::transport {

/// The payload of a `probe` and of its answer, which repeats the first two fields.
struct probe {
  std::uint64_t stamp = 0;   ///< the prober's own time; the peer does not read it
  std::uint32_t serial = 0;  ///< counts the probes of a connection from 1
  std::uint32_t owing = 0;  ///< at least the receiver's requests that await an answer, or its acknowledgement
  std::uint32_t pulse = 0;  ///< grows while the gossip of the sender of the frame goes on; 0: it has none
};

/// The probes of one connection. Only an answered probe proves that the peer is there: what arrives by itself
/// does not show that it hears, and acknowledgements of a kernel do not show that its process runs.
class prober {
 public:
  /// Makes the next probe, which leaves now.
  probe next(time_point now, std::uint32_t owing, std::uint32_t pulse) noexcept {
    if (!unanswered()) trusted_from_ = now;
    ++sent_;
    left(sent_) = now;
    return {static_cast<std::uint64_t>(now.time_since_epoch().count()), sent_, owing, pulse};
  }

  /// Notes the state in which the latest probe has left, as a number.
  void note_state(std::uint64_t state) noexcept { state_ = state; }
  /// The state in which that probe left, if it is the latest one; else 0.
  std::uint64_t state_at(std::uint32_t serial) const noexcept { return serial == sent_ ? state_ : 0; }

  /// Takes an answer. Returns the time since its probe left; nothing if this is no answer to one that is
  /// unanswered. The time is 0 if the stamp is none of this connection's, or if the time is not to be trusted.
  std::optional<nanoseconds> answered(const probe& answer, time_point now) noexcept {
    if (answer.serial <= answered_ || answer.serial > sent_) return std::nullopt;
    answered_ = answer.serial;
    const time_point then{nanoseconds(static_cast<std::int64_t>(answer.stamp))};
    if (then < trusted_from_ || then > left(sent_)) return nanoseconds(0);
    trusted_from_ = answered_left_ = then;
    return now - then;
  }

  /// This process did not run for a while before `now`: what was under way then says nothing about times.
  void distrust_times(time_point now) noexcept { trusted_from_ = now; }

  bool unanswered() const noexcept { return answered_ != sent_; }
  /// When the first of the probes left that are unanswered. If those are more than `remembered`, it may have been
  /// later.
  time_point unanswered_since() const noexcept {
    if (sent_ - answered_ > remembered) return trusted_from_;
    return std::max(trusted_from_, left(answered_ + 1));
  }
  /// When the latest probe left that has been answered, if its time is to be trusted.
  time_point answered_probe_left() const noexcept { return answered_left_; }
  /// True if no probe has left for that long.
  bool due(time_point now, nanoseconds interval) const noexcept {
    return sent_ == 0 || now - left(sent_) >= interval;
  }

 private:
  static constexpr std::uint32_t remembered = 2;
  time_point& left(std::uint32_t serial) noexcept { return left_[serial % remembered]; }
  const time_point& left(std::uint32_t serial) const noexcept { return left_[serial % remembered]; }

  std::uint32_t sent_ = 0;
  std::uint32_t answered_ = 0;
  std::uint64_t state_ = 0;
  std::array<time_point, remembered> left_{};  // when the latest probes left
  time_point trusted_from_{};                  // no probe that is unanswered left before that
  time_point answered_left_{};
};

}  // namespace scoll::transport
