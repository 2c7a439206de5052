#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/carrier.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"
#include "transport/session/message.hpp"
#include "transport/session/rails/arrival_window.hpp"
#include "transport/session/rails/held_cancels.hpp"
#include "transport/session/rails/stripes.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

/// One of the streams of a session: the sequence of its messages, which outlasts connections, and the carrier
/// that makes them. It connects when there is something to send, and gives up after the grace. Then the
/// session ends if this is the control lane. If it is the bulk lane, only the exchanges of class bulk end, and
/// the lane is *lost*: it keeps its sequence, and goes on to connect, seldom, to tell the peer what it still
/// holds (grace.cpp).
class lane final {
 public:
  lane(session& owner, lane_id id) noexcept;
  ~lane();
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  lane_id id() const noexcept { return id_; }
  bool up() const noexcept { return carrier_->up(); }
  /// The reading of memory over its link; null while it is not up, or if the link has none.
  remote_access* remote() const noexcept { return carrier_->remote(); }
  /// True while a connection by that path is being greeted from this side. While a bulk lane is down, any
  /// path counts.
  bool greeting(path_key by) const noexcept;
  /// True from the end of the grace until the lane is up again, if something is held for the peer. Only a
  /// bulk lane is ever lost; a control lane takes its session with it.
  bool lost() const noexcept { return lost_; }
  /// Why the latest attempt failed, or the latest connection broke; empty while the lane is up.
  const error& last_failure() const noexcept { return last_failure_; }
  std::uint64_t received() const noexcept { return arrived_.cumulative(); }
  /// What has arrived after that.
  arrival_window::bits beyond() const noexcept { return arrived_.beyond(); }
  /// The number of connections that this side has made for the lane, and of the peer's latest one, which a
  /// late message from an earlier one must not displace. Those of a control lane overtake only their own path.
  std::uint64_t attempts() const noexcept { return attempts_; }
  std::uint64_t peer_attempts(path_key by) const noexcept;
  void set_peer_attempts(path_key by, std::uint64_t attempts) noexcept;
  void forget_peer_attempts() noexcept;

  /// Connects if something waits to be sent; writes if something can be written.
  void pump() noexcept;
  /// Takes over a link that the peer made and on which it has introduced itself. `continues`: the sequence
  /// and credit in the identity apply to the present session.
  void adopt(link& l, const identity& said, const frame_header& header, bool continues, path_key by) noexcept;
  /// Forgets all sequence state and closes the link. With `keep_connecting`, a connection that is being made
  /// continues: its welcome will name the new session.
  void reset(bool keep_connecting) noexcept;
  /// Says goodbye, after which nothing is sent any more. False if it must be tried again.
  bool leave() noexcept;
  /// Probes the peer if no probe has left for a while: a short while if messages come and go.
  void probe_if_due() noexcept;
  /// This process did not run for a while: the round trip of no probe that is under way counts.
  void distrust_times() noexcept { carrier_->probes().distrust_times(ex().now()); }
  /// Nothing answers: makes another connection beside the silent one, and tries the other paths at once.
  void try_anew() noexcept;
  /// Makes another connection beside the one that is up and silent. If the peer welcomes it, that shows that
  /// the peer is there and the old connection is dead; the new one takes its place.
  void try_spare() noexcept;
  /// Breaks the connection off if it is half-dead: the peer answers over another one and not over this, and
  /// its transport has acknowledged no byte for as long.
  void watch_half_dead(bool peer_answers) noexcept;
  void on_answer() noexcept { unanswered_for_ = 0; }
  bool is_silent_again() noexcept;
  /// Probes the peer in this turn. The lane is up.
  void probe_now() noexcept { carrier_->send_probe(); }
  /// True if the peer owes the answer to a probe; with several paths, on each of them.
  bool unanswered() const noexcept;
  /// Breaks a connection off over which the peer answers probes and acknowledges nothing for the limit.
  void watch_acknowledgements() noexcept;
  bool retains() const noexcept { return !retained_.empty(); }
  /// Grows with each message, either way.
  std::uint64_t numbers() const noexcept { return last_assigned_ + arrived_.count(); }

  // Several paths (rails/lane_paths.cpp)
  bool has_paths() const noexcept { return session_.paths_ != nullptr; }
  /// True if the lane may have a connection by that path, too. A connection by a worse path may end for it.
  bool make_place_for(path_key by) noexcept;
  void retire(carrier& c) noexcept;
  /// The carrier by which the lane sends. The others of a control lane stand by, each on another path.
  carrier& active() noexcept { return *carrier_; }
  const carrier& active() const noexcept { return *carrier_; }
  bool is_active(const carrier& c) const noexcept { return &c == carrier_.get(); }
  carrier* carrier_by(path_key key) noexcept;
  const carrier* carrier_by(path_key key) const noexcept;
  carrier* carrier_of(const link_down& what) noexcept;
  template <class Visitor>
  void each_up(Visitor&& visit) {
    if (carrier_->up()) visit(*carrier_);
    for (std::size_t i = 0; i < others_.size(); ++i) {
      if (others_[i]->up()) visit(*others_[i]);
    }
  }
  /// The first message that is unacknowledged since before the last look, if the carrier has it; else 0.
  std::uint64_t old_front(const carrier& of) noexcept;
  /// Sends by the best of the paths that are connected.
  void settle() noexcept;
  /// Connects by another path than the active one, and by all that are better.
  void make_standby() noexcept;
  /// One of this node's own rails is alive again: connections by it are made soon.
  void return_to_rail(std::uint8_t number) noexcept;
  /// The interface of one of this node's own rails may be down, or back.
  void heed_hint(std::uint8_t number, bool usable) noexcept;
  /// Cuts a connection of a bulk lane and goes on by another path.
  void leave_path(carrier& c, const error& reason) noexcept;
  /// A connection of a bulk lane does not answer: goes on by the others, or by another path.
  void doubt_path(carrier& c, const error& reason) noexcept;
  /// True if the bulk lane sends by several connections, or has done so.
  bool striped() const noexcept { return stripes_ != nullptr; }
  void watch_stripes(bool peer_answers) noexcept;
  void watch_attempts() noexcept;
  /// True if a bulk lane is connected by that path, or goes to be, and need not leave another one for it.
  bool opens_beside(path_key by);
  /// The path by which a bulk lane would connect now.
  path_key best_path() noexcept;
  /// Sends an acknowledgement at the end of this turn, with a message or alone.
  void acknowledge_now() noexcept;
  /// The peer has acknowledged everything up to `sequence`. False if that was never sent.
  bool acknowledged(std::uint64_t sequence) noexcept;
  /// Likewise, and some of the 256 messages after that.
  bool acknowledged(std::uint64_t sequence, const arrival_window::bits& beyond) noexcept;

 private:
  friend class session;
  friend class carrier;
  friend class stripes;

  // What its carrier asks and tells.
  /// True while somebody waits for a connection.
  bool needed() const noexcept;
  /// True for the bulk lane of a client that is connected otherwise, because the server cannot connect.
  bool restores() const noexcept;
  /// True if a connection is to be made: it is needed, or the lane is lost.
  bool wanted() const noexcept { return needed() || lost_ || restores(); }
  bool wants(const carrier& c) noexcept;
  std::uint64_t count_attempt() noexcept { return ++attempts_; }
  void on_attempt(const carrier& c) noexcept;
  bool is_spare(const carrier& c) const noexcept { return &c == spare_.get(); }
  /// The peer has welcomed the spare, which replaces the other connection.
  void promote_spare() noexcept;
  /// The connection is gone. True if the spare, which is under way, takes its place.
  bool spare_takes_over(const error& reason) noexcept;
  void stop_spare() noexcept;
  /// Connects again after a pause, if anybody waits for that.
  void retry(carrier& c, const error& reason) noexcept;
  /// A connection has failed or broken. True if there is to be another attempt.
  bool on_failure(const error& reason, bool awaited) noexcept;
  /// The greetings of the two sides have acknowledged that much.
  void on_up(carrier& c, std::uint64_t said_received, std::uint64_t peer_received,
             const arrival_window::bits& beyond) noexcept;
  lent_range place(const carrier& by, const frame_header& header, std::span<const std::byte> head) noexcept;
  void on_sequenced(carrier& c, frame_view& frame) noexcept;
  bool takes_out_of_order(carrier& c, frame_view& frame) noexcept;
  void deliver(carrier& c, frame_view& frame) noexcept;
  void let_go(message& m) noexcept;
  message* first_retained() noexcept { return retained_.first(); }
  bool left() const noexcept { return left_; }
  bool owes_acknowledgement() const noexcept { return acknowledge_now_; }
  void acknowledgement_leaves() noexcept { acknowledge_now_ = false; }
  /// True if it is known at once that no message waits for that connection, new or to be sent again.
  bool nothing_for(const carrier& c) const noexcept {
    return session_.held_[index(id_)] == retained_count_ && c.cursor() == nullptr && stripes_ == nullptr;
  }
  message* next_message(const carrier& c, bool& again) noexcept {
    return nothing_for(c) ? nullptr : find_message(c, again);
  }
  message* find_message(const carrier& c, bool& again) noexcept;
  /// The carrier takes the message that `next_message` has returned.
  void hand_over(message& m, carrier& to, bool again) noexcept;
  void stamp(frame_header& header) noexcept;
  /// Says once more what was said last, in a frame that nobody misses if it is lost.
  void stamp_anew(frame_header& header) const noexcept;

  // rails/lane_paths.cpp
  void choose_path(carrier& c) noexcept;
  nanoseconds turn_of(const carrier& c);
  void on_path_failure(carrier& c, const error& reason, bool was_up) noexcept;
  void on_path_up(carrier& c) noexcept;
  bool standby_wanted(const carrier& c) noexcept;
  carrier* worse_than(path_key by) noexcept;
  carrier& carrier_on(path_key key) noexcept;
  carrier* best_up() noexcept;
  void go_over(carrier& next) noexcept;
  void swap_in(carrier& next) noexcept;
  void note_path() noexcept;
  void hedge() noexcept;
  void attend_paths() noexcept;
  void hurry_others() noexcept;
  void try_further() noexcept;
  void stop_others(bool keep_connecting) noexcept;

  // rails/lane_stripes.cpp
  void join_stripes(carrier& c) noexcept;
  std::uint8_t enter(carrier& c) noexcept;
  void on_link_gone(carrier& c) noexcept;
  void hand_back(const carrier& c, std::uint8_t next) noexcept;
  void free_undecided() noexcept;
  carrier* another_up(const carrier& than) noexcept;
  void on_bulk_failure(carrier& c, const error& reason, bool was_up) noexcept;
  bool in_doubt(const carrier& c) noexcept;
  carrier* best_stripe(const carrier* but) noexcept;
  bool carries(const carrier& c) noexcept;
  std::uint32_t others_that_carry(const carrier& than) noexcept;
  bool speaks_by(const carrier& c) noexcept;
  static bool is_segment(const message& m) noexcept;
  bool within_window(std::uint64_t number) noexcept;
  message* next_of_stripes(const carrier& c, bool& again) noexcept;
  bool may_take(const carrier& c, const message& m) noexcept;
  template <class Visit>
  void each_sendable(Visit&& visit) noexcept;
  std::uint64_t bytes_waiting() noexcept;
  void took_message(message& m, carrier& to, bool again) noexcept;
  void gave(const carrier& c, std::uint64_t bytes) noexcept;
  void took(const carrier& c) noexcept;
  bool prefers(const path& p) noexcept;
  bool adds(const path& p) noexcept;
  void widen();
  bool begin_stripe(path_key by);
  void shun(carrier& c) noexcept;
  void settle_stripes() noexcept;
  void watch_stripe(carrier& c, bool peer_answers) noexcept;
  bool holds_front(const carrier& c) noexcept;
  void aim(path_key by) noexcept;

  // rails/arrivals.cpp
  bool takes(std::uint64_t number) const noexcept;
  void end_other_landings(const carrier& by, std::uint64_t number) noexcept;
  void on_cancel(frame_view& frame) noexcept;
  void hear_cancels() noexcept;
  std::size_t connections() const noexcept;

  void start_grace() noexcept;
  void end_grace() noexcept;
  nanoseconds lost_of_grace() noexcept;
  void attend() noexcept;
  void grace_over() noexcept;
  error reason_of_loss() const noexcept;
  void stand_down() noexcept;
  void take_back_unwanted() noexcept;
  std::uint64_t last_beyond_gap() noexcept;
  void acknowledge_due() noexcept;
  void acknowledge_soon(bool first) noexcept;
  executor& ex() const noexcept;

  session& session_;
  lane_id id_;
  bool acknowledge_now_ = false;
  bool left_ = false;
  bool lost_ = false;
  bool was_up_ = false;                 // since the session began, or since the lane was last lost
  std::optional<path_key> carried_by_;  // by which messages of this session have gone last
  std::unique_ptr<carrier> carrier_;
  std::unique_ptr<carrier> spare_;                // made when first needed
  std::vector<std::unique_ptr<carrier>> others_;  // one for each further path, made when first needed
  // The peer's latest attempts on paths other than the first.
  std::vector<std::pair<path_key, std::uint64_t>> peer_attempts_by_;
  std::unique_ptr<stripes> stripes_;  // of a bulk lane that sends by several connections
  std::uint64_t last_assigned_ = 0;
  arrival_window arrived_;
  number_set placed_;     // messages that have not arrived and whose payloads have begun to
  held_cancels cancels_;  // those that have overtaken other messages
  std::uint64_t acknowledgement_sent_ = 0;
  time_point unacknowledged_since_{};
  std::uint64_t attempts_ = 0;
  std::uint64_t peer_attempts_ = 0;
  intrusive_list<message> retained_;
  std::size_t retained_count_ = 0;
  error last_failure_;
  std::uint64_t seen_ = 0;     // messages both ways when the last probe was due
  std::uint64_t oldest_ = 0;   // the first retained message at the last look
  std::uint32_t old_for_ = 0;  // looks since it has been that
  std::uint32_t times_stuck_ = 0;
  std::uint32_t unanswered_for_ = 0;  // looks, over this lane
  std::uint32_t still_before_ = 0;    // `session::still_looks_` when the grace was last counted
  std::uint64_t progress_ = 0;        // of the link at the last look
  member_timer<&lane::grace_over> grace_timer_{*this};
  member_timer<&lane::acknowledge_due> acknowledge_timer_{*this};
};

}  // namespace scoll::transport
