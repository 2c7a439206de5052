#pragma once

#include <algorithm>
#include <cstdint>

namespace scoll::transport {

/// Credit-based flow control of one traffic class on one session, in both directions. Counters are absolute,
/// counted from the session's beginning. So a repeated or overtaken announcement changes nothing, and once
/// nothing is under way, what one side has sent equals what the other has received. Counters may wrap; only
/// differences are used.
class credit_window {
 public:
  // Requests that this side sends.
  std::uint32_t sent() const noexcept { return sent_; }
  std::uint32_t granted_to_us() const noexcept { return granted_to_us_; }
  /// Requests that may be sent now.
  std::uint32_t available() const noexcept { return granted_to_us_ - sent_; }
  void on_sent() noexcept { ++sent_; }
  /// A request that was sent has provably not arrived, and will not be sent again.
  void on_taken_back() noexcept { --sent_; }
  /// The peer announces the total that it allows. False if that grants nothing new.
  bool announce(std::uint32_t total) noexcept {
    if (static_cast<std::int32_t>(total - granted_to_us_) <= 0) return false;
    granted_to_us_ = total;
    return true;
  }

  // Requests that the peer sends.
  std::uint32_t received() const noexcept { return received_; }
  std::uint32_t disposed() const noexcept { return disposed_; }
  std::uint32_t granted_by_us() const noexcept { return granted_by_us_; }
  /// True if the peer may send one more request.
  bool may_receive() const noexcept { return received_ != granted_by_us_; }
  void on_received() noexcept { ++received_; }
  /// A request has been dealt with, so its place is free again.
  void on_disposed() noexcept { ++disposed_; }

  /// Count the replies that are kept until the peer has acknowledged them.
  void keep_reply() noexcept { ++held_replies_; }
  void release_reply() noexcept { --held_replies_; }

  /// The total of requests that the peer may send when `window` of them may be open at once. A peer that
  /// never acknowledges its replies gets no further credit once a window of them is kept for it; a peer that
  /// acknowledges with its next request never gets there. Credit is never taken back.
  std::uint32_t grantable(std::uint32_t window) const noexcept {
    const std::uint32_t beyond = held_replies_ > window ? held_replies_ - window : 0;
    const std::uint32_t total = disposed_ + window - std::min(beyond, window);
    return static_cast<std::int32_t>(total - granted_by_us_) > 0 ? total : granted_by_us_;
  }
  /// True if the peer is about to run out of credit and more can be granted, so that a separate message is
  /// worthwhile.
  bool low(std::uint32_t window) const noexcept {
    return granted_by_us_ - received_ <= window / 2 && grantable(window) != granted_by_us_;
  }
  /// Grants what can be granted. The next frame to the peer carries the returned total.
  std::uint32_t grant(std::uint32_t window) noexcept { return granted_by_us_ = grantable(window); }

  /// A session begins with the windows that both sides have offered.
  void open(std::uint32_t theirs, std::uint32_t ours) noexcept {
    granted_to_us_ = theirs;
    granted_by_us_ = ours;
  }
  /// The session has ended. Replies that are still held are released later, one by one.
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
