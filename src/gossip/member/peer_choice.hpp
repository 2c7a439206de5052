#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gossip/configuration.hpp"
#include "scoll/coro/random.hpp"

namespace scoll::gossip {

/// The choice of the participant to ping: any one at random, but silent ones only now and then, in case they
/// come back. All operations take constant time.
class peer_choice {
 public:
  /// `silent_one_in`: one in so many draws is among the silent; 0: they are drawn like all others.
  peer_choice(std::uint32_t participants, participant_index self, std::uint32_t silent_one_in)
      : order_(participants), place_(participants), speaking_(participants), silent_one_in_(silent_one_in) {
    std::iota(order_.begin(), order_.end(), 0);
    std::iota(place_.begin(), place_.end(), 0);
    // The participant itself is at the very end, outside both parts.
    exchange(self, order_.back());
    --speaking_;
  }

  std::uint32_t speaking() const noexcept { return speaking_; }
  std::uint32_t silent() const noexcept { return others() - speaking_; }
  bool is_silent(participant_index who) const noexcept { return place_[who] >= speaking_; }

  void set_silent(participant_index who, bool silent) noexcept {
    if (silent == is_silent(who)) return;
    if (silent) {
      exchange(who, order_[--speaking_]);
    } else {
      exchange(who, order_[speaking_++]);
    }
  }

  /// Draws a participant, not one of `tried` if there is another. `nobody` if there are no others.
  participant_index draw(random_generator& random, std::span<const participant_index> tried) const noexcept {
    if (others() == 0) return nobody;
    const auto is_tried = [&](participant_index who) {
      return std::find(tried.begin(), tried.end(), who) != tried.end();
    };
    for (int attempts = 0; attempts < 16; ++attempts) {
      const participant_index who = draw_any(random);
      if (!is_tried(who)) return who;
    }
    // The remaining ones are few, or rarely drawn: take the next in order.
    const std::uint64_t first = random.below(others());
    for (std::size_t i = 0; i < tried.size(); ++i) {
      const participant_index who = order_[(first + i) % others()];
      if (!is_tried(who)) return who;
    }
    return order_[(first + tried.size()) % others()];
  }

 private:
  std::uint32_t others() const noexcept { return static_cast<std::uint32_t>(order_.size()) - 1; }

  participant_index draw_any(random_generator& random) const noexcept {
    if (silent_one_in_ == 0 || silent() == 0) return order_[random.below(others())];
    const bool asks_silent = speaking_ == 0 || random.chance(1, silent_one_in_);
    const std::uint64_t drawn = random.below(asks_silent ? silent() : speaking_);
    return order_[asks_silent ? speaking_ + drawn : drawn];
  }

  void exchange(participant_index a, participant_index b) noexcept {
    std::swap(order_[place_[a]], order_[place_[b]]);
    std::swap(place_[a], place_[b]);
  }

  // those that speak, then the silent ones, then the participant itself
  std::vector<participant_index> order_;
  std::vector<std::uint32_t> place_;
  std::uint32_t speaking_;
  std::uint32_t silent_one_in_;
};

}  // namespace scoll::gossip
