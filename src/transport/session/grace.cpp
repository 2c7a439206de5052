#include <algorithm>
#include <string_view>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/io/address.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/reply_flags.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/byte_order.hpp"

// A lane that is down: this file decides whether anybody waits for it, for how long, and what ends when that
// time is over.
//
// The end of the control lane is the end of the session. The end of the bulk lane ends the exchanges of class
// bulk alone. The session, and with it the sequence and the credit of the bulk lane, goes on, so nothing is
// numbered anew on one side and not on the other. Messages that have left, and may have arrived, are kept for
// the next connection, but without their payloads: replies as refusals, requests as places in the sequence.
// Cancels are queued for the requests that the peer may be working on. The next greeting says what has
// arrived; requests that have not are taken back. Until then the credits bound what is kept.
namespace scoll::transport {

using wire::detail::load_little;
using wire::detail::store_little;

/// A node that is still serving a call needs the connection too; otherwise it would never notice that the
/// caller is gone, and never tell the handler. (A broadcast needs no such care: its time is bounded.) When
/// bulk is lost, the control lane shows whether the peer is there at all: if it is not, the session ends.
/// Nobody waits for what a lost lane still holds. A client that holds an order of the server needs the
/// connection as well, because the server, if it has given the session up, cannot connect to say so.
bool lane::needed() const noexcept {
  if (id_ == lane_id::control &&
      (session_.owed_calls_ != 0 || session_.bulk_lost() || session_.owes_as_client())) {
    return true;
  }
  // The control lane shows by which paths the peer can be reached.
  if (id_ == lane_id::control && has_paths() && session_.pending_exchanges_[index(lane_id::bulk)] != 0)
    return true;
  if (session_.pending_exchanges_[index(id_)] != 0) return true;
  if (id_ == lane_id::bulk && session_.invites_bulk()) return true;
  return !lost_ && (!retained_.empty() || session_.work_waiting(id_));
}

bool lane::restores() const noexcept {
  const auto& control = session_.lanes_[index(lane_id::control)];
  return id_ == lane_id::bulk && session_.endpoint_.options().client && control != nullptr && control->up();
}

/// Probes show whether the peer stands still meanwhile.
void lane::start_grace() noexcept {
  if (grace_timer_.armed()) return;
  ex().arm(grace_timer_, ex().now() + session_.endpoint_.options().reconnect_grace);
  if (id_ != lane_id::bulk) return;
  still_before_ = session_.still_looks_;
  session_.probe_now();
}

void lane::end_grace() noexcept {
  if (grace_timer_.armed()) ex().disarm(grace_timer_);
}

/// Somebody waits for the lane, which is not up. If it was lost, it has a new grace, which begins with an
/// attempt.
void lane::attend() noexcept {
  if (session_.with_client()) return start_grace();
  if (has_paths()) return attend_paths();
  if (carrier_->idle()) return carrier_->begin_connect();
  if (grace_timer_.armed()) return;
  start_grace();
  carrier_->hurry();
}

/// The part of the grace of class bulk during which the peer stood still, since this was last asked. A peer
/// that answers nothing at all welcomes no connection either, and that says nothing about the way for bulk.
/// How long it may stand still is for `endpoint_options::silence_limit` to say.
nanoseconds lane::lost_of_grace() noexcept {
  if (id_ != lane_id::bulk) return nanoseconds(0);
  const std::uint32_t looks = session_.still_looks_ - std::exchange(still_before_, session_.still_looks_);
  return SCOLL_MUTANT(bulk_grace_runs_on, "the grace of class bulk is spent while the peer stands still")
             ? nanoseconds(0)
             : looks * limits::watch_interval;
}

void lane::grace_over() noexcept {
  if (!needed()) return stand_down();  // what was to be sent has been cancelled
  // While this process stood still, nobody could be connected.
  const nanoseconds late = ex().now() - grace_timer_.at();
  const nanoseconds more = late > limits::watch_interval
                               ? std::min(late, session_.endpoint_.options().reconnect_grace)
                               : lost_of_grace();
  if (more.count() != 0) return ex().arm(grace_timer_, ex().now() + more);
  const error reason = reason_of_loss();
  const bool alone =
      id_ == lane_id::bulk &&
      !SCOLL_MUTANT(bulk_loss_ends_session, "a session ends when its bulk connection cannot be restored");
  alone ? session_.lose_bulk(reason) : session_.fail(reason);
}

error lane::reason_of_loss() const noexcept {
  const bool refused = last_failure_ == errc::wrong_cluster || last_failure_ == errc::version_mismatch ||
                       last_failure_ == errc::not_member || last_failure_ == errc::stale ||
                       last_failure_ == errc::id_in_use || last_failure_ == errc::busy ||
                       last_failure_ == errc::not_authentic;
  const bool had = id_ == lane_id::bulk ? was_up_ : session_.peer_epoch_ != 0;
  const errc code = refused ? last_failure_.code() : had ? errc::connection_lost : errc::unreachable;
  const std::string_view why =
      last_failure_.text().empty() ? "no connection within the grace" : last_failure_.text();
  if (id_ == lane_id::control) {
    return make_error(code, "node {} at {}: {}", session_.peer(), session_.address(), why);
  }
  return make_error(code, "bulk to node {} at {}: {}", session_.peer(),
                    address_of_lane(session_.address(), id_), why);
}

/// Nobody waits for the lane any more. A lost one goes on to connect, seldom.
void lane::stand_down() noexcept {
  end_grace();
  stop_spare();
  stop_others(false);
  carrier_->stop();
  if (lost_) carrier_->pause(last_failure_);
}

/// Ends all exchanges of class bulk on this side, and nothing else.
void session::lose_bulk(const error& reason) noexcept {
  class_state& bulk = classes_[index(traffic_class::bulk)];
  lane& l = lane_at(lane_id::bulk);
  intrusive_list<exchange, exchange> ended;
  exchanges_.each([&](exchange& waiter) {
    if (lane_of(waiter.klass_) != lane_id::bulk) return;
    if (waiter.transmitted_) send_cancel(waiter, false, reason.code());
    --pending_exchanges_[index(lane_id::bulk)];
    exchanges_.remove(waiter.id_);
    ended.push_back(waiter);
  });
  while (!bulk.requests.empty()) release(bulk.requests.pop_front());
  bulk.queued = 0;
  for (message* m = bulk.expected.first(); m != nullptr; m = bulk.expected.next(*m)) hollow(*m);
  for (message* m = l.retained_.first(); m != nullptr; m = l.retained_.next(*m)) hollow(*m);
  l.lost_ = !l.retained_.empty() || !bulk.expected.empty();
  l.was_up_ = false;
  l.stand_down();
  ++endpoint_.statistics_.bulk_lost;
  endpoint_.note_progress();
  if (l.lost_) lane_at(lane_id::control);  // it is needed now, and may never have been
  kick();
  end_all(ended, reason);
}

/// Nobody waits for a message of class bulk any more. It lets go of all memory but keeps its place in the
/// sequence. A reply says that it is lost, in case its requester has not given up yet.
void session::hollow(message& m) noexcept {
  if (m.requester_ != nullptr) std::exchange(m.requester_, nullptr)->queued_ = nullptr;
  if (m.header().type != frame_type::reply) return m.drop_payload();
  if (load_little<std::uint16_t>(m.envelope() + 8) != 0) return;  // a refusal
  // A right, which belongs to the connection that was lost: its receiver orders anew.
  if (load_little<std::uint16_t>(m.envelope() + 10) == 0) return;
  m.become_refusal(errc::connection_lost, "the bulk connection was lost before the answer had arrived");
  store_little(m.envelope() + 10,
               static_cast<std::uint16_t>(reply_flags::final | reply_flags::may_have_effects));
}

/// The lane was lost and is up again, and the peer has just said what it has received. A request that it has
/// not received is as if it had never been sent: its credit is free, and what follows takes its number.
/// A number below one that has arrived cannot be given anew, so such a request becomes its own cancel.
void lane::take_back_unwanted() noexcept {
  if (retained_.empty()) return;
  const std::uint64_t kept = last_beyond_gap();
  std::uint64_t number = kept;
  for (message* m = retained_.first(); m != nullptr;) {
    message& each = *std::exchange(m, retained_.next(*m));
    if (each.header().sequence < kept) {
      if (each.header().type == frame_type::request) session_.withdraw(each);
      continue;
    }
    if (each.header().type != frame_type::request) {
      each.header().sequence = ++number;
      continue;
    }
    if (stripes_ != nullptr) stripes_->mark(each.handed_to_, stripes::undecided, false);
    each.unlink();
    --retained_count_;
    session_.take_back(each);
  }
  last_assigned_ = number;
  if (stripes_ == nullptr) carrier_->set_cursor(retained_.first());
}

/// The highest number that has arrived while one before it has not; else the last before the first one that has
/// not.
std::uint64_t lane::last_beyond_gap() noexcept {
  std::uint64_t last = retained_.front().header().sequence - 1;
  std::uint64_t found = last;
  for (message* m = retained_.first(); m != nullptr; m = retained_.next(*m)) {
    const std::uint64_t number = m->header().sequence;
    if (number != last + 1) found = number - 1;
    last = number;
  }
  return last == last_assigned_ ? found : last_assigned_;
}

void session::withdraw(message& m) noexcept {
  classes_[index(m.header().klass)].credits.on_taken_back();
  m.header().type = frame_type::cancel;
  store_little(m.envelope() + 8, cancel_kinds::cancel);
  store_little(m.envelope() + 10, static_cast<std::uint16_t>(errc::connection_lost));
  store_little(m.envelope() + 12, std::uint32_t{0});
}

void session::take_back(message& m) noexcept {
  classes_[index(m.header().klass)].credits.on_taken_back();
  release(m);
}

}  // namespace scoll::transport
