#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "transport/session/greeting.hpp"

namespace scoll::transport {

class endpoint;
class session;

/// The places of the clients of an endpoint. A client gets one with its first connection. It keeps the place,
/// connected or not, until it says goodbye, has been silent for the silence limit, or is gone without having
/// left anything to do; and then until nothing refers to its session any more, such as a handler that still
/// runs.
///
/// A session that awaits something is looked after by `session_watch`. The others, which may be a thousand,
/// are asked seldom.
class client_table final {
 public:
  explicit client_table(endpoint& owner) noexcept : owner_(owner), epoch_(0) {}
  ~client_table();
  client_table(const client_table&) = delete;
  client_table& operator=(const client_table&) = delete;

  std::size_t size() const noexcept { return size_; }
  /// The session with the client that speaks, which is new if the client has no place yet. Error: `busy`.
  result<session*> admit(const identity& said, std::string_view from);
  /// The session of a client has ended. Its place is free in a later turn.
  void session_over() noexcept;

 private:
  /// How many rounds a client may be silent, and how many it may be without a connection.
  friend class session;
  static constexpr std::uint32_t most_silent_rounds = 5;
  static constexpr std::uint32_t most_rounds_apart = 2;

  nanoseconds interval() const noexcept;
  void on_time() noexcept;
  void sweep() noexcept;
  bool can_go(const session& one) const noexcept;

  endpoint& owner_;
  std::size_t size_ = 0;
  /// No session of a client has had a later epoch here. So a client that comes back after its place was given
  /// away does not take the new session for the old one.
  std::uint64_t epoch_;
  time_point next_{};
  member_node<&client_table::sweep> sweeping_{*this};
  member_timer<&client_table::on_time> timer_{*this};
};

}  // namespace scoll::transport
