#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"
#include "transport/session/message.hpp"
#include "transport/session/prober.hpp"
#include "transport/session/rails/arrival_window.hpp"
#include "transport/session/rails/link_down.hpp"
#include "transport/session/rails/path.hpp"

namespace scoll::transport {

class control_frame;
class endpoint;
class frame_batch;
class greeting_room;
class lane;
class rail;
class session;

/// A lane's side of one connection: it makes or takes over the connection, introduces this node on it, and
/// hands the lane's messages to it. When the connection breaks, the next one begins with what has not been
/// acknowledged, and is made after a pause that grows.
///
/// A second carrier of a lane is its spare. It is tried while the first one is up and silent, and takes its
/// place if the peer welcomes it. A spare that the peer has made is *welcomed*, and takes its place with the
/// first frame that the peer sends over it.
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
class carrier final : public link_events, public connect_events {
 public:
  explicit carrier(transport::lane& owner, path_key by = {}) noexcept : lane_(owner), path_(by) {}
  ~carrier() { stop(); }
  carrier(const carrier&) = delete;
  carrier& operator=(const carrier&) = delete;

  bool idle() const noexcept { return state_ == state::idle; }
  bool up() const noexcept { return state_ == state::up; }
  bool greeting() const noexcept { return state_ == state::greeting; }
  bool welcomed() const noexcept { return state_ == state::welcomed; }
  bool pausing() const noexcept { return state_ == state::pausing; }
  /// True while a connection is being made, from this side.
  bool attempting() const noexcept { return state_ == state::connecting || state_ == state::greeting; }
  /// The reading of memory over its link; null while it is not up, or if the link has none.
  remote_access* remote() const noexcept { return remote_; }

  path_key path() const noexcept { return path_; }
  /// Chooses the path of the next connection. The carrier is idle.
  void aim(path_key by) noexcept { path_ = by; }
  lane_id lane() const noexcept;
  /// The attempt of the present connection, and whether this side has made it.
  std::uint64_t attempt() const noexcept { return attempt_; }
  bool made_here() const noexcept { return made_here_; }
  bool is_link(bool made_here, std::uint64_t attempt) const noexcept {
    return link_ != nullptr && made_here_ == made_here && attempt_ == attempt;
  }

  void begin_connect() noexcept;
  /// Takes over a link that the peer made and on which it has introduced itself. `continues`: the sequence
  /// and credit in the identity apply to the present session.
  void adopt(link& l, const identity& said, const frame_header& header, bool continues) noexcept;
  /// Welcomes the peer on a spare link of the present session. The carrier is up with the next frame.
  void welcome_spare(link& l, const identity& said) noexcept;
  /// Connects at once if it pauses, as if nothing had failed yet.
  void hurry() noexcept;
  /// Pauses and connects again, if the lane still wants a connection then.
  void pause(const error& reason) noexcept;
  /// Connects after a time, if the lane still wants a connection then.
  void connect_after(nanoseconds pause) noexcept;
  /// Connects after the pause that follows `failures` in a row, of a lane that is not up.
  void connect_after_backoff(nanoseconds most) noexcept;
  /// Forgets the connection, and the one that is being made.
  void stop() noexcept;
  /// Does so with an attempt that takes too long. A greeting that is still under way must not arrive: it would
  /// displace the connection that is made instead.
  void abandon() noexcept;
  /// The next failure is the first one.
  void forget_failures() noexcept { backoff_ = nanoseconds(0); }
  /// Breaks the connection off, because its peer has violated the protocol.
  void violated(const error& reason) noexcept;
  /// Breaks it off and makes another one.
  void break_off(const error& reason) noexcept;
  /// Cuts the connection, so that nothing of it is read or delivered any more, and makes another one.
  void sever(const error& reason) noexcept;

  /// Sends a probe, with the next batch or alone. If the link takes nothing, the probe counts as unanswered.
  void send_probe() noexcept;
  prober& probes() noexcept { return prober_; }
  const prober& probes() const noexcept { return prober_; }
  /// Sends what `path_table::told` and `path_table::answers` hold.
  void tell_downs() noexcept;
  bool unanswered() const noexcept { return probe_due_ || prober_.unanswered(); }
  /// The bytes that the peer's transport has acknowledged on this connection; nothing if that is not known.
  std::optional<std::uint64_t> acknowledged_bytes() const noexcept {
    return link_ == nullptr ? std::nullopt : link_->acknowledged_bytes();
  }

  /// What the looks at several paths have seen of this connection.
  struct silence {
    bool waits = false;    ///< it has left something unanswered, since `since`
    bool shunned = false;  ///< the other connections of a bulk lane carry its messages, since `shunned_at`
    time_point since{};
    time_point floor{};       ///< when the peer's transport last acknowledged bytes in doubt
    std::uint64_t front = 0;  ///< the first message that is not acknowledged, since `front_since`
    time_point front_since{};
    std::uint64_t progress = 0;  ///< `acknowledged_bytes` at the last look
    std::uint32_t looks = 0;     ///< while it is suspected and others answer, or while it connects
    std::uint32_t mute = 0;      ///< looks, while it is one of several, and does not answer
    std::uint64_t bytes = 0;     ///< `acknowledged_bytes` at the last look meanwhile
    time_point shunned_at{};
  };
  silence& seen() noexcept { return silence_; }
  const silence& seen() const noexcept { return silence_; }

  /// Writes what the lane has, if the link takes it now.
  void write() noexcept;
  /// Says goodbye on a connection that is up. False if it must be tried again.
  bool say_goodbye() noexcept;

  /// The first retained message that has not been handed to this link; null if all have.
  message* cursor() const noexcept { return cursor_; }
  void set_cursor(message* next) noexcept { cursor_ = next; }

  /// Its mark in `stripes`; 0 while it is the only connection of its lane.
  std::uint8_t mark() const noexcept { return mark_; }
  void set_mark(std::uint8_t mark) noexcept { mark_ = mark; }
  void keep_unsent_short() noexcept {
    if (link_ != nullptr) link_->keep_unsent_short();
  }

  /// The message whose payload is being written to its place as it comes; 0: none.
  std::uint64_t landing() const noexcept { return landing_; }
  /// Has the rest of that payload read and dropped, because another copy of the message lands or has arrived.
  void cut_landing() noexcept;
  /// The message has come whole. True if its payload was cut off: then it counts as never received.
  bool landing_over(std::uint64_t number) noexcept;

 private:
  enum class state : std::uint8_t { idle, connecting, greeting, welcomed, up, pausing };

  void on_frame(frame_view& frame) noexcept override;
  lent_range place_payload(const frame_header& header, std::span<const std::byte> head) noexcept override;
  void on_writable() noexcept override;
  void on_closed(const error& reason) noexcept override;
  void on_connected(link& connected) noexcept override;
  void on_connect_failed(const error& reason) noexcept override;

  void on_greeting(frame_view& frame) noexcept;
  void on_refused(frame_view& frame) noexcept;
  void refused_by_us(const error& reason) noexcept;
  void greeting_over() noexcept;
  void resume_after_pause() noexcept;
  void take_link(link& l, bool made_here, std::uint64_t attempt) noexcept;
  void introduce() noexcept;
  // carrier_guard.cpp
  bool is_being_guarded() const noexcept;
  void begin_guard() noexcept;
  void on_step(const frame_view& frame) noexcept;
  void advance_guard() noexcept;
  void welcome() noexcept;
  frame_parts encode_identity(greeting_room& room, frame_type type) noexcept;
  void stand_in() noexcept;
  void came_up(std::uint64_t peer_received, const arrival_window::bits& beyond) noexcept;
  void stop_timers() noexcept;
  void drop_link(bool at_once = false) noexcept;
  rail& transport() const noexcept;
  void write_downs() noexcept;
  void on_probe(const frame_view& frame) noexcept;
  void on_probe_reply(const frame_view& frame) noexcept;
  void add_probes(frame_batch& batch, std::span<control_frame, 2> room) noexcept;
  void add_probe(frame_batch& batch, control_frame& room, frame_type type, const probe& what) noexcept;
  void write_batch() noexcept;
  void write_messages() noexcept;
  void acknowledge_alone() noexcept;
  session& owner() const noexcept;
  endpoint& at() const noexcept;
  executor& ex() const noexcept;

  transport::lane& lane_;
  path_key path_;
  bool made_here_ = false;
  state state_ = state::idle;
  std::uint8_t mark_ = 0;
  bool downs_due_ = false;  // see `tell_downs`
  bool probe_due_ = false;
  bool answer_due_ = false;
  bool cut_off_ = false;  // what is landing
  std::uint64_t attempt_ = 0;
  silence silence_;
  link* link_ = nullptr;
  remote_access* remote_ = nullptr;  // of the link, while it is up
  message* cursor_ = nullptr;
  std::uint64_t landing_ = 0;
  std::uint64_t said_received_ = 0;  // in the greeting
  std::uint64_t peer_received_ = 0;  // while welcomed
  prober prober_;
  probe answer_;  // to the peer's latest probe
  nanoseconds backoff_{0};
  member_timer<&carrier::resume_after_pause> pause_timer_{*this};
  member_timer<&carrier::greeting_over> greeting_timer_{*this};
};

}  // namespace scoll::transport
