#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// An accepted link whose peer has not introduced itself yet. Until it has, it costs the endpoint this object
/// and nothing else, and only the fixed frames of a greeting are read from it.
///
/// Whoever has taken a step of a guard, and leaves or is turned away before anything is proven, keeps the place until
/// its time is over. So a host that hangs up buys no more key exchanges than one that stays.
///
/// ```text
///   opening ──hello──► opened ──(steps of the guard)──► identity ──► handed over to the lane of its session
///      └──── another frame, or nothing within the limit ────► refused
/// ```
class endpoint::greeter final : public list_hook<>, public link_events {
 public:
  /// `by` is the number of the rail that has accepted the link, `host` a number for the host it comes from.
  greeter(endpoint& owner, link& l, std::uint8_t by, std::uint64_t host) noexcept;
  ~greeter();

  link& give_up_link() noexcept { return *std::exchange(link_, nullptr); }
  std::uint8_t rail() const noexcept { return rail_; }
  std::string peer_name() const { return link_->peer_name(); }
  std::uint64_t host() const noexcept { return host_; }
  /// Says whether an identity is of this connection, from a node for which its guard speaks.
  status check(const identity& said) const noexcept;
  /// Notes the name of a client in its session. Error: `not_authentic` if another client has the id.
  status name(session& of) const;
  /// Says why, and notes it. `peer` is who speaks, if that is known, otherwise 0.
  void refuse(node_id peer, const error& reason) noexcept;
  void say_who_is_here(const identity& asked) noexcept;

 private:
  void on_frame(frame_view& frame) noexcept override;
  void on_writable() noexcept override;
  void on_closed(const error& reason) noexcept override;
  status on_hello(const frame_view& frame) noexcept;
  status begin_guard(const hello& said) noexcept;
  void on_step(const frame_view& frame) noexcept;
  void on_introduced(frame_view& frame) noexcept;
  void turn_away(const error& reason) noexcept;
  void leave() noexcept;
  void too_late() noexcept;

  endpoint& owner_;
  link* link_;
  bool opened_ = false;
  bool owes_proof_ = false;  // it has taken a step, and nothing is proven
  std::uint8_t lane_ = 0;
  std::uint8_t rail_;
  std::uint64_t host_;
  std::optional<frame_header> held_;  // of an identity that waits until the link takes its answer
  buffer_view held_payload_;
  member_timer<&greeter::too_late> timer_{*this};
};

}  // namespace scoll::transport
