#pragma once

#include <algorithm>
#include <cstdint>

namespace scoll::transport {

/// Credit-based flow control of one traffic class on one session, both directions. Counters are absolute, counted since
/// the session began: a repeated or overtaken announcement changes nothing, and what one side has sent equals what the
/// other has received once nothing is under way. They may wrap; only differences are used.
class credit_window {
 public:
  // Requests of this side.
  std::uint32_t sent() const noexcept { return sent_; }
  std::uint32_t granted_to_us() const noexcept { return granted_to_us_; }
  /// Requests that may be sent now.
  std::uint32_t available() const noexcept { return granted_to_us_ - sent_; }
  void on_sent() noexcept { ++sent_; }
  /// The peer announces how many it allows in all. False if that is nothing new.
  bool announce(std::uint32_t total) noexcept {
    if (static_cast<std::int32_t>(total - granted_to_us_) <= 0) return false;
    granted_to_us_ = total;
    return true;
  }

  // Requests of the peer.
  std::uint32_t received() const noexcept { return received_; }
  std::uint32_t disposed() const noexcept { return disposed_; }
  std::uint32_t granted_by_us() const noexcept { return granted_by_us_; }
  /// The peer may send one more.
  bool may_receive() const noexcept { return received_ != granted_by_us_; }
  void on_received() noexcept { ++received_; }
  /// A request has been dealt with, so that its place is free.
  void on_disposed() noexcept { ++disposed_; }

  /// Replies that are kept until the peer has acknowledged them.
  void keep_reply() noexcept { ++held_replies_; }
  void release_reply() noexcept { --held_replies_; }

  /// Requests that the peer may send in all when `window` may be open at once. A peer that never acknowledges its replies
  /// gets no further credit once a window of them is kept for it; a peer that acknowledges with its next request never
  /// gets there. What was granted is never taken back.
  std::uint32_t grantable(std::uint32_t window) const noexcept {
    const std::uint32_t beyond = held_replies_ > window ? held_replies_ - window : 0;
    const std::uint32_t total = disposed_ + window - std::min(beyond, window);
    return static_cast<std::int32_t>(total - granted_by_us_) > 0 ? total : granted_by_us_;
  }
  /// True if the peer is about to run out of credit and more can be granted: worth a message of its own.
  bool low(std::uint32_t window) const noexcept {
    return granted_by_us_ - received_ <= window / 2 && grantable(window) != granted_by_us_;
  }
  /// The next frame to the peer carries the returned total.
  std::uint32_t grant(std::uint32_t window) noexcept { return granted_by_us_ = grantable(window); }

  /// A session begins: the windows that both sides offered.
  void open(std::uint32_t theirs, std::uint32_t ours) noexcept {
    granted_to_us_ = theirs;
    granted_by_us_ = ours;
  }
  /// The session has ended. Replies that are still held are released one by one.
  void reset() noexcept { sent_ = granted_to_us_ = received_ = disposed_ = granted_by_us_ = 0; }

 private:
  std::uint32_t sent_ = 0;
  std::uint32_t granted_to_us_ = 0;
  std::uint32_t received_ = 0;
  std::uint32_t disposed_ = 0;
  std::uint32_t granted_by_us_ = 0;
  std::uint32_t held_replies_ = 0;
};

}  // namespace scoll::transport
