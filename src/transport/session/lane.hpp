#pragma once

#include <cstdint>
#include <span>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/hello.hpp"
#include "transport/session/link.hpp"
#include "transport/session/message.hpp"

namespace scoll::transport {

class session;

/// One of the streams of a session: its connection, and the sequence of its messages. It connects when there
/// is something to send, reconnects with growing pauses, and gives up after the grace. Then the session ends
/// if this is the control lane. If it is the bulk lane, only the exchanges of class bulk end, and the lane is
/// *lost*: it keeps its sequence, and goes on to connect, seldom, to tell the peer what it still holds
/// (grace.cpp).
///
/// ```text
///            need                connected            welcome
///   idle ──────────► connecting ──────────► greeting ──────────► up
///    ▲                  │ failed               │ refused, broken │ broken
///    │ no need          ▼                      ▼                 │
///    └────────────── pausing ◄─────────────────┴─────────────────┘
///                       the peer's own connection leads to `up` from every state but `greeting` of the
///                       smaller node id
/// ```
class lane final : public link_events, public connect_events {
 public:
  lane(session& owner, lane_id id) noexcept;
  ~lane();
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  bool up() const noexcept { return state_ == state::up; }
  /// The reading of memory over its link; null while it is not up, or if the link has none.
  remote_access* remote() const noexcept { return remote_; }
  bool greeting() const noexcept { return state_ == state::greeting; }
  /// True from the end of the grace until the lane is up again, if something is held for the peer. Only a
  /// bulk lane is ever lost; a control lane takes its session with it.
  bool lost() const noexcept { return lost_; }
  std::uint64_t received() const noexcept { return received_; }
  /// The number of connections that this side has made for the lane, and of the peer's latest one. A late
  /// message from an earlier connection must not displace a later connection.
  std::uint64_t attempts() const noexcept { return attempts_; }
  std::uint64_t peer_attempts() const noexcept { return peer_attempts_; }
  void set_peer_attempts(std::uint64_t attempts) noexcept { peer_attempts_ = attempts; }

  /// Connects if something waits to be sent; writes if something can be written.
  void pump() noexcept;
  /// Takes over a link that the peer made and that has said hello. `continues`: the sequence and credit in
  /// the hello apply to the present session.
  void adopt(link& l, const hello& h, const frame_header& header, bool continues) noexcept;
  /// Forgets all sequence state and closes the link. With `keep_connecting`, a connection that is being made
  /// continues: its welcome will name the new session.
  void reset(bool keep_connecting) noexcept;
  /// Says goodbye, after which nothing is sent any more. False if it must be tried again.
  bool leave() noexcept;
  /// Sends an acknowledgement at the end of this turn, with a message or alone.
  void acknowledge_now() noexcept;
  /// The peer has acknowledged everything up to `sequence`. False if that was never sent.
  bool acknowledged(std::uint64_t sequence) noexcept;

 private:
  friend class session;
  enum class state : std::uint8_t { idle, connecting, greeting, up, pausing };

  void on_frame(frame_view& frame) noexcept override;
  lent_range place_payload(const frame_header& header, std::span<const std::byte> head) noexcept override;
  void on_writable() noexcept override;
  void on_closed(const error& reason) noexcept override;
  void on_connected(link& connected) noexcept override;
  void on_connect_failed(const error& reason) noexcept override;

  void on_greeting(frame_view& frame) noexcept;
  void on_sequenced(frame_view& frame) noexcept;
  void on_refused(frame_view& frame) noexcept;
  void refused_by_us(const error& reason) noexcept;
  void take_link(link& l) noexcept;
  void begin_connect() noexcept;
  void send_hello(frame_type type) noexcept;
  void pause(const error& reason) noexcept;
  void resume_after_pause() noexcept;
  void came_up(std::uint64_t peer_received) noexcept;
  void violated(const error& reason) noexcept;
  void drop_link() noexcept;
  void stop_timers() noexcept;
  void start_grace() noexcept;
  void attend() noexcept;
  void grace_over() noexcept;
  error reason_of_loss() const noexcept;
  void stand_down() noexcept;
  void take_back_unwanted() noexcept;
  void greeting_over() noexcept;
  void acknowledge_due() noexcept;
  void write_batch() noexcept;
  message* next_message(bool& again) noexcept;
  void acknowledge_soon() noexcept;
  void acknowledge_alone() noexcept;
  void stamp(frame_header& header) noexcept;
  bool needed() const noexcept;
  executor& ex() const noexcept;

  session& session_;
  lane_id id_;
  state state_ = state::idle;
  link* link_ = nullptr;
  remote_access* remote_ = nullptr;  // of the link, while the lane is up
  std::uint64_t last_assigned_ = 0;
  std::uint64_t received_ = 0;
  std::uint64_t placed_ = 0;  // the latest message whose payload was written as it came
  std::uint64_t acknowledgement_sent_ = 0;
  bool acknowledge_now_ = false;
  bool left_ = false;
  bool lost_ = false;
  bool was_up_ = false;  // since the session began, or since the lane was last lost
  time_point unacknowledged_since_{};
  std::uint64_t attempts_ = 0;
  std::uint64_t peer_attempts_ = 0;
  intrusive_list<message> retained_;
  std::size_t retained_count_ = 0;
  message* cursor_ = nullptr;  // first retained message not yet handed to the current link
  nanoseconds backoff_{0};
  error last_failure_;
  member_timer<&lane::resume_after_pause> pause_timer_{*this};
  member_timer<&lane::grace_over> grace_timer_{*this};
  member_timer<&lane::greeting_over> greeting_timer_{*this};
  member_timer<&lane::acknowledge_due> acknowledge_timer_{*this};
};

}  // namespace scoll::transport
