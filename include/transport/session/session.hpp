#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/result.hpp"
#include "transport/session/credit_window.hpp"
#include "transport/session/exchange.hpp"
#include "transport/session/exchange_table.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/link.hpp"
#include "transport/session/message.hpp"
#include "transport/session/notice.hpp"
#include "transport/session/rails/path.hpp"
#include "transport/session/round_trip.hpp"

namespace scoll::transport {

class carrier;
class endpoint;
class lane;
class path_table;
/// The list of the sessions that await something.
struct watched;
struct link_down;
struct path_news;

/// The relation with one peer, which outlasts links: sequence numbers, acknowledgements, messages that are
/// not acknowledged, credits and exchanges. It survives a broken link if the same incarnation of the peer is
/// back within the grace. Otherwise everything pending on it ends, and the next request begins a new session.
/// If only the link for bulk is gone for that long, only the exchanges of class bulk end.
///
/// Memory is bounded per peer: credits bound requests, the queue limit bounds those that wait for credit, and
/// the requests admitted bound replies.
class session final : public list_hook<watched> {
 public:
  session(endpoint& owner, node_id peer, std::string address);
  ~session();
  session(const session&) = delete;
  session& operator=(const session&) = delete;

  node_id peer() const noexcept { return peer_; }
  const std::string& address() const noexcept { return address_; }
  /// The name of the peer, a client, in its certificate; empty if it has none.
  std::string_view client_name() const noexcept {
    return client_name_ == nullptr ? std::string_view() : *client_name_;
  }
  /// The peer's incarnation; 0 until the peer has been heard.
  std::uint64_t peer_incarnation() const noexcept { return peer_incarnation_; }

  /// Sends `m`, whose head and payload are set. `waiter` then waits for the answer, which never comes from
  /// inside this call. `reply_capacity` is the most payload bytes of a reply. A `queue_limit` other than 0
  /// replaces the endpoint's, for a layer that bounds its own requests. Errors: `busy` (the queue is full),
  /// `peer_died`, `closed`; then the message has been released and `waiter` stays free.
  status request(exchange& waiter, traffic_class klass, message& m, std::uint32_t reply_capacity,
                 std::uint32_t queue_limit = 0) noexcept;

  /// Sends `m` as a notice: the head is set, has at most `max_notice_head_bytes` with the envelope, and there
  /// is no payload. A notice leaves before everything else, costs a credit of class urgent and is not
  /// answered. It is kept and sent again until the peer has acknowledged it. `ticket`, which is free, hears
  /// of its progress. Errors: `busy` (this node has too many notices queued; the progress of one makes room),
  /// `peer_died` (and the peer has not begun a session since), `closed`; then the message has been released
  /// and `ticket` stays free.
  status notify(message& m, emission& ticket) noexcept;
  /// The number of notices to this peer that have not been handed to a link yet.
  std::size_t notices_queued() const noexcept { return notices_queued_; }

  /// Liveness says that this incarnation of the peer is dead. All that is pending ends with `peer_died` at
  /// once, and later requests fail the same way until the peer is heard of alive. News of an incarnation
  /// older than the session's is ignored.
  void declare_dead(std::uint64_t incarnation) noexcept;
  /// Liveness says that the peer is alive in this incarnation. If the incarnation is new, requests to the old
  /// one end with `peer_rebooted` without waiting for a connection to tell.
  void declare_alive(std::uint64_t incarnation) noexcept;
  bool dead() const noexcept { return dead_incarnation_ != 0; }
  /// True if the peer is a client: only it connects, and `address()` says where it last did so from.
  bool with_client() const noexcept { return is_client(peer_); }

  /// True if the lane of `klass` is connected now, so that what is sent leaves at once.
  bool connected(traffic_class klass) const noexcept;

  /// The reason why the latest connection of the lane of `klass` broke, or the latest attempt failed. Empty
  /// while the lane is connected, and if it was never tried.
  error last_failure(traffic_class klass) const noexcept;

  /// The reading of the peer's memory, over the present connection for class bulk; null if there is none.
  remote_access* remote() const noexcept;

  /// The round-trip time of the connection for all classes but bulk. Probes measure it while something is
  /// awaited of the peer.
  const round_trip& rtt() const noexcept { return rtt_ == nullptr ? round_trip::unknown() : *rtt_; }
  /// When the peer last showed that its process runs, by an answer to a probe or by a greeting.
  time_point last_contact() const noexcept { return last_contact_; }
  /// Probes the peer on all its connections for all classes but bulk. False if there is none.
  bool probe_now() noexcept;

  /// The paths to the peer, best first; empty if there is only one.
  std::span<const path> paths() const noexcept;
  /// The path that the lane of `klass` sends by, or would send by first.
  path_key path_of(traffic_class klass) const noexcept;
  /// True if the lane of `klass` has a connection on that path.
  bool connected_by(traffic_class klass, path_key key) const noexcept;
  /// The peer's address on one of its rails; empty if it is not known.
  const std::string& address_on(std::uint8_t rail) const noexcept;

  /// True if the connection for class bulk has been lost for the grace, so that the exchanges of that class
  /// have ended, and something is still held that the peer must hear of. A new request of class bulk has the
  /// grace to go through.
  bool bulk_lost() const noexcept;

  /// The requests of a class that may be sent now, and the counters behind that number.
  std::uint32_t credit(traffic_class klass) const noexcept { return credits(klass).available(); }
  const credit_window& credits(traffic_class klass) const noexcept {
    return classes_[static_cast<std::size_t>(klass)].credits;
  }
  /// The requests of a class that wait for credit.
  std::uint32_t queued(traffic_class klass) const noexcept {
    return classes_[static_cast<std::size_t>(klass)].queued;
  }
  std::uint64_t epoch() const noexcept { return epoch_; }
  /// The peer's epoch; 0 while there is no session.
  std::uint64_t peer_epoch() const noexcept { return peer_epoch_; }
  /// The requests that wait for a reply.
  std::size_t waiting() const noexcept { return pending_exchanges_[0] + pending_exchanges_[1]; }
  /// The peer's requests that wait for a reply of this node. It counts them one by one.
  std::size_t owing() noexcept;
  /// The messages held for this peer because they are queued or not acknowledged.
  std::size_t held_messages() const noexcept { return held_[0] + held_[1]; }

 private:
  friend class emission;
  friend class exchange;
  friend class incoming;
  friend class request_view;
  friend class endpoint;
  friend class lane;
  friend class carrier;
  friend class session_watch;
  friend class client_table;

  struct class_state {
    intrusive_list<message> expected;  // replies and cancels: need no credit
    intrusive_list<message> requests;
    std::uint32_t queued = 0;       // length of `requests`
    std::uint32_t for_notices = 0;  // credits that requests leave to notices
    credit_window credits;
    bool replied_last = false;  // the last message to leave was one of `expected`
  };
  // exchanges
  void forget(exchange& waiter) noexcept;
  void cancel_exchange(exchange& waiter, errc why) noexcept;
  void move_exchange(exchange& from, exchange& to) noexcept;
  void send_cancel(const exchange& waiter, bool answer_awaited, errc why) noexcept;
  void send_note(const exchange& waiter, std::uint16_t kind, errc why, std::uint32_t parts) noexcept;
  void end_exchange(exchange& waiter, reply_event& event) noexcept;
  lent_range place(const frame_header& header, std::span<const std::byte> head) noexcept;
  status on_reply(frame_view& frame) noexcept;
  void on_request(frame_view& frame) noexcept;
  void on_cancel(std::span<const std::byte> head) noexcept;
  void send_reply(std::uint64_t exchange_id, traffic_class klass, message& m, const error& outcome,
                  bool final) noexcept;
  void send_refusal(std::uint64_t exchange_id, traffic_class klass, const error& reason,
                    bool may_have_effects) noexcept;
  void dispose(traffic_class klass) noexcept;
  // notices
  status on_notice(const frame_view& frame) noexcept;
  void notice_taken(message& m) noexcept;
  void notice_over(message& m, notice_state how) noexcept;
  void advance(emission& ticket, notice_state to) noexcept;
  void tell_progress() noexcept;
  void tell_emissions(const error& reason) noexcept;

  lane& lane_at(lane_id id);

  // messages
  void enqueue(message& m, traffic_class klass, frame_type type) noexcept;
  void release(message& m, notice_state how = notice_state::lost) noexcept;
  /// The next message of a lane, most urgent class first, if its credit allows one. `take` then removes it.
  message* peek(lane_id lane, bool requests_too) noexcept;
  void take(message& m) noexcept;
  void take_back(message& m) noexcept;
  void withdraw(message& m) noexcept;
  static void hollow(message& m) noexcept;
  void apply_grants(const frame_header& header) noexcept;
  std::uint32_t window_of(traffic_class klass) const noexcept;
  void grant_if_low(traffic_class klass) noexcept;
  void stamp(frame_header& header, lane_id lane) noexcept;
  void stamp_anew(frame_header& header) const noexcept;
  bool work_waiting(lane_id lane) const noexcept;
  void kick() noexcept;
  void flush() noexcept;

  // contact
  bool awaits() const noexcept;
  bool awaits_over(lane_id id) const noexcept;
  /// Looks whether the peer is there, and returns whether anything is awaited of it. `late`: this process did
  /// not run when it should have.
  bool look(bool late) noexcept;
  void on_contact(const carrier& by, nanoseconds took) noexcept;
  void on_pulse(std::uint32_t pulse) noexcept;
  std::uint64_t settled() const noexcept;
  void compare_waiting(std::uint32_t owing, std::uint64_t settled_before) noexcept;
  /// Asks a client of which nothing is awaited whether it is there.
  void ask_idle(bool late) noexcept;
  /// A client must connect its bulk lane, too, because the server may want its memory during a call.
  bool invites_bulk() const noexcept;
  bool owes_as_client() const noexcept;

  // several paths (rails/)
  void set_addresses(std::span<const std::string> addresses);
  path_table& need_paths();
  path& path_at(path_key key) noexcept;
  void tell_path(const path_news& news) noexcept;
  void note_arrival(path_key by, std::uint8_t theirs) noexcept;
  path_key path_from(std::uint8_t own, std::uint8_t theirs) const noexcept;
  void on_path_answer(const carrier& by) noexcept;
  void on_path_loss(path_key key, time_point began);
  void settle_losses();
  bool unsettled() noexcept;
  void keep_paths() noexcept;
  void compare_paths(bool late) noexcept;
  bool another_answers(path_key key, time_point since) noexcept;
  void judge(carrier& c) noexcept;
  void judge_suspect(carrier& c) noexcept;
  void probe_paths() noexcept;
  nanoseconds time_to_connect() const noexcept;
  void watch_bulk_path() noexcept;
  void on_suspicion(carrier& c, const error& reason) noexcept;
  void tell_link_over(const carrier& c, const error& reason) noexcept;
  void on_link_down(carrier& by, const frame_view& frame) noexcept;
  void on_link_down_reply(carrier& by, const frame_view& frame) noexcept;
  bool apply_received(carrier& by, const link_down& said) noexcept;

  // session life
  identity make_identity(lane_id lane, path_key by) const;
  /// The acceptor's decision: true if the sequence and credit of the identity apply to the session that the
  /// two sides now have; an error if the identity is turned away.
  result<bool> on_identity(const identity& said, lane& l, path_key by) noexcept;
  status on_welcome(const identity& said, lane& l, path_key by) noexcept;  // the connector's
  /// Whether an incarnation that is newer than the session's may begin.
  status admit_life(const identity& said) noexcept;
  void follow(const identity& said) noexcept;
  void live_as(std::uint64_t incarnation) noexcept;
  /// Requests that never left this node, of some classes.
  enum class unsent : std::uint8_t { none, to_services, all };
  struct kept {
    unsent requests;
    bool connecting;  // keep the connections that are being made
  };
  static bool keeps(unsent which, traffic_class klass) noexcept;
  bool never_left(exchange& waiter) noexcept;
  void reset(const error& reason, kept keep) noexcept;
  void end_all(intrusive_list<exchange, exchange>& ended, const error& reason) noexcept;
  void fail(const error& reason) noexcept;
  void lose_bulk(const error& reason) noexcept;
  void shut() noexcept;
  bool quiet() const noexcept;

  endpoint& endpoint_;
  node_id peer_;
  std::string address_;
  std::unique_ptr<const std::string> client_name_;  // null if it has none
  std::uint64_t peer_incarnation_ = 0;
  std::uint64_t dead_incarnation_ = 0;  // the peer's incarnation that is called dead; 0: none
  std::uint64_t epoch_ = 1;
  std::uint64_t peer_epoch_ = 0;
  std::uint64_t serial_ = 1;
  std::array<class_state, class_count> classes_;
  // made when first needed, because most peers never are
  std::array<std::unique_ptr<lane>, lane_count> lanes_;
  std::unique_ptr<path_table> paths_;  // null while there can be only one path
  exchange_table exchanges_;
  std::array<std::uint32_t, lane_count> pending_exchanges_{};
  intrusive_list<incoming, incoming> incoming_;
  intrusive_list<incoming, incoming> orphans_;  // requests of earlier sessions, whose replies are discarded
  std::array<std::uint32_t, lane_count> held_{};
  bool kicked_ = false;
  member_node<&session::flush> flush_{*this};
  std::uint32_t owed_calls_ = 0;     // those in `incoming_` of class call
  std::unique_ptr<round_trip> rtt_;  // made with the control lane
  time_point last_contact_{};
  std::uint32_t peer_pulse_ = 0;     // in the latest answer
  std::uint64_t missing_since_ = 0;  // the state when an answer last said that too little is worked at
  time_point contested_since_{};     // when the peer was asked because another server claimed its id
  std::uint64_t peer_places_ = 0;    // a hash of the addresses that the peer has told
  std::uint32_t silent_for_ = 0;     // looks, since a probe has been unanswered
  std::uint32_t still_looks_ = 0;    // all looks, of any time, during which the peer stood still
  intrusive_list<message> notices_;
  std::size_t notices_queued_ = 0;
  intrusive_list<emission, emission> told_;  // the tickets that are about to hear of progress
  member_node<&session::tell_progress> telling_{*this};
};

}  // namespace scoll::transport
