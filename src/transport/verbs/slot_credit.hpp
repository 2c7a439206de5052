#pragma once

#include <algorithm>
#include <cstdint>

namespace scoll::transport::verbs {

/// The least number of places that a link is promised: three SENDs with data, and one that carries promises
/// alone.
inline constexpr std::uint32_t least_slots = 4;
/// More than any link is promised at a time.
inline constexpr std::uint32_t most_slots = 65536;

/// What the immediate value of each SEND says: the places that its sender has promised in all, modulo 2^24,
/// and how many of those promised to it the sender gives back unused.
struct slot_news {
  static constexpr std::uint32_t count_bits = 24;
  static constexpr std::uint32_t count_mask = (1U << count_bits) - 1;
  static constexpr std::uint32_t most_given_back = 255;

  std::uint32_t promised = 0;
  std::uint32_t given_back = 0;

  constexpr std::uint32_t pack() const noexcept {
    return (promised & count_mask) | (given_back << count_bits);
  }
  static constexpr slot_news unpack(std::uint32_t value) noexcept {
    return {value & count_mask, value >> count_bits};
  }
};

/// The places at the peer that this end may use. Each SEND uses one.
class sending_credit {
 public:
  /// The difference between what was promised and what was used.
  std::uint32_t left() const noexcept { return (promised_ - used_) & slot_news::count_mask; }
  /// The last one is kept for a SEND that carries promises alone: so both ends can always go on.
  bool allows_data() const noexcept { return left() >= 2; }
  bool allows_news() const noexcept { return left() >= 1; }
  void use(std::uint32_t count = 1) noexcept { used_ = (used_ + count) & slot_news::count_mask; }
  /// The peer has promised so many in all. False if that cannot be: the count goes back, or beyond all bounds.
  bool learn(std::uint32_t promised) noexcept {
    const std::uint32_t more = (promised - promised_) & slot_news::count_mask;
    if (more > most_slots || left() + more > most_slots) return false;
    promised_ = promised;
    return true;
  }

 private:
  std::uint32_t promised_ = 0;
  std::uint32_t used_ = 0;
};

/// The places of this end that the peer may use, and of which it has been told. The window is how many it is
/// to have; it grows while the peer uses them, and shrinks as the peer gives back.
class receiving_credit {
 public:
  std::uint32_t window() const noexcept { return window_; }
  /// Promised and not used.
  std::uint32_t outstanding() const noexcept { return promised_ - received_; }
  /// Promises that the peer has not been told of.
  std::uint32_t untold() const noexcept { return promised_ - told_; }
  /// Enough of them that they are worth a SEND of their own.
  bool worth_telling() const noexcept { return untold() >= std::max<std::uint32_t>(2, window_ / 2); }
  /// The value for the next SEND.
  std::uint32_t tell() noexcept {
    told_ = promised_;
    return promised_ & slot_news::count_mask;
  }

  /// A SEND has arrived, with which the peer gives back so many. False if the peer had no place for it.
  bool arrived(std::uint32_t given_back) noexcept {
    if (outstanding() < 1 + given_back) return false;
    received_ += 1 + given_back;
    since_growth_ += 1;
    window_ = std::max(least_slots, window_ - std::min(window_, given_back));
    if (given_back != 0) since_growth_ = 0;
    return true;
  }
  /// Promises up to the window again.
  void renew() noexcept {
    const std::uint32_t wanted = received_ + window_;
    if (wanted - promised_ <= window_) promised_ = wanted;
  }
  /// True if the peer has used its whole window since it grew last.
  bool wants_growth() const noexcept { return since_growth_ >= window_; }
  void grow(std::uint32_t by) noexcept {
    window_ += by;
    since_growth_ = 0;
  }

 private:
  std::uint32_t window_ = least_slots;
  std::uint32_t promised_ = least_slots;  // from the handshake
  std::uint32_t told_ = least_slots;
  std::uint32_t received_ = 0;
  std::uint32_t since_growth_ = 0;
};

/// Shares the places of a device out among its links: the sum of their windows never exceeds the places that
/// are always posted. A quarter of the places may be held by services, and a quarter of the rest is kept for
/// new links.
class slot_budget {
 public:
  explicit slot_budget(std::uint32_t slots) noexcept
      : holdable_(slots / 4), total_(slots - holdable_), growable_(total_ - total_ / 4) {}

  /// The most places that may be held by services; what arrives beyond that is copied out.
  std::uint32_t holdable() const noexcept { return holdable_; }
  std::uint32_t granted() const noexcept { return granted_; }
  /// Room for one more link.
  bool admit() noexcept {
    if (granted_ + least_slots > total_) return false;
    granted_ += least_slots;
    return true;
  }
  /// Gives a link with `window` places more of them, up to `most`. Returns how many.
  std::uint32_t grow(std::uint32_t window, std::uint32_t most) noexcept;
  void give_back(std::uint32_t count) noexcept { granted_ -= count; }

 private:
  std::uint32_t holdable_;
  std::uint32_t total_;
  std::uint32_t growable_;
  std::uint32_t granted_ = 0;
};

}  // namespace scoll::transport::verbs
