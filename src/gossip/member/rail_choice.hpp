#pragma once

#include <cstdint>

#include "scoll/coro/random.hpp"

namespace scoll::gossip {

/// The position of an address among those of its participant.
using rail_index = std::uint8_t;

/// The way of a datagram: the rail on which this participant sends or receives it, and that of the other.
struct way {
  rail_index own = 0;
  rail_index other = 0;
};

/// The choice of the own rail for each ping of a cycle. The first takes the rail that answered last, but one
/// in eight takes another rail, so that it is known which rails work. Retries take the rails that the cycle
/// has not tried yet, the one that answered last before the others. When all have been tried, they begin
/// anew.
class rail_choice {
 public:
  /// `rails`: 1 to 8.
  explicit rail_choice(std::uint32_t rails) noexcept : rails_(rails) {}

  rail_index preferred() const noexcept { return preferred_; }
  rail_index latest() const noexcept { return latest_; }
  void answered(rail_index rail) noexcept { preferred_ = rail; }
  /// A whole cycle had no reply, so the next one begins with another rail.
  void unanswered() noexcept { preferred_ = static_cast<rail_index>((preferred_ + 1) % rails_); }

  /// The rail for the first ping of a cycle. With one rail nothing is drawn.
  rail_index first(random_generator& random) noexcept {
    latest_ = preferred_;
    if (rails_ > 1 && random.chance(1, other_one_in))
      latest_ = static_cast<rail_index>((latest_ + 1 + random.below(rails_ - 1)) % rails_);
    tried_ = 1U << latest_;
    return latest_;
  }
  /// The rail for the next ping of the same cycle.
  rail_index next() noexcept {
    if (tried_ == (1U << rails_) - 1) tried_ = 0;
    if (is_tried(preferred_)) {
      do latest_ = static_cast<rail_index>((latest_ + 1) % rails_);
      while (is_tried(latest_));
    } else {
      latest_ = preferred_;
    }
    tried_ |= 1U << latest_;
    return latest_;
  }

 private:
  static constexpr std::uint64_t other_one_in = 8;

  bool is_tried(rail_index rail) const noexcept { return (tried_ >> rail & 1U) != 0; }

  std::uint32_t rails_;
  std::uint32_t tried_ = 0;  // a bit for each rail
  rail_index latest_ = 0;
  rail_index preferred_ = 0;
};

}  // namespace scoll::gossip
