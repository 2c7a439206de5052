#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gossip/configuration.hpp"

namespace scoll::gossip {

/// An estimate of the share of lost messages, from unanswered pings to participants that turned out to be
/// alive, and from the estimates of others. Pings to the dead say nothing about the network.
class loss_estimate {
 public:
  /// Notes a ping that has left. The one that it displaces is forgotten.
  void sent(participant_index to, std::uint64_t sequence, std::uint64_t clock) noexcept;
  /// Notes the answer to a ping. True if that ping was waited for.
  bool answered(std::uint64_t sequence) noexcept;
  /// Judges pings without an answer that are a cycle or more old. `heard(to)` is the cycle at which any
  /// participant last heard `to`. Pings older than `patience` cycles say nothing.
  template <class Heard>
  void conclude(std::uint64_t clock, std::uint64_t patience, Heard&& heard) noexcept {
    for (ping& p : pings_) {
      if (p.sequence == 0 || clock < p.clock + 2) continue;
      if (heard(p.to) > p.clock + 1) {
        sample(true);
        p.sequence = 0;
      } else if (clock > p.clock + patience) {
        p.sequence = 0;
      }
    }
  }
  /// Takes in the estimate of another participant, 0 to 1.
  void others_say(double loss) noexcept { others_ += (loss - others_) / 16; }

  double own() const noexcept;
  /// The greater of the own estimate and the average of the others'.
  double value() const noexcept;

 private:
  struct ping {
    participant_index to = nobody;
    std::uint64_t sequence = 0;  // 0: none
    std::uint64_t clock = 0;
  };
  static constexpr std::size_t waited_for = 64;
  static constexpr std::uint32_t most_samples = 64;

  void sample(bool lost) noexcept;

  std::array<ping, waited_for> pings_{};
  std::size_t next_ = 0;
  std::uint64_t lost_ = 0;  // a bit for each of the latest samples
  std::uint32_t samples_ = 0;
  double others_ = 0;
};

}  // namespace scoll::gossip
