#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/reply_flags.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"

// The exchanges of a session: requests of this side and their replies, requests of the peer and our answers.
namespace scoll::transport {

using wire::detail::load_little;
using wire::detail::store_little;

namespace {

errc known_reason(std::uint16_t number) noexcept {
  const auto code = static_cast<errc>(number);
  const bool is_reason = code != errc::ok && to_string(code) != to_string(static_cast<errc>(UINT16_MAX));
  return is_reason ? code : errc::cancelled;
}

}  // namespace

// ---- the requesting side

/// The exchange waits no longer: its slot is free, and its request, if it is still held, has no requester.
void session::forget(exchange& waiter) noexcept {
  if (waiter.queued_ != nullptr) waiter.queued_->requester_ = nullptr;
  --pending_exchanges_[index(lane_of(waiter.klass_))];
  exchanges_.remove(waiter.id_);
  endpoint_.note_progress();
  waiter.queued_ = nullptr;
  waiter.session_ = nullptr;
}

status session::request(exchange& waiter, traffic_class klass, message& m, std::uint32_t reply_capacity,
                        std::uint32_t queue_limit) noexcept {
  SCOLL_ASSERT(!waiter.pending(), "an exchange waits for one reply at a time");
  class_state& k = classes_[index(klass)];
  error refused;
  if (endpoint_.draining_) refused = {errc::closed, "this node is shutting down"};
  if (!refused && dead() &&
      !SCOLL_MUTANT(dead_are_asked, "requests to a node that was declared dead are queued"))
    refused = make_error(errc::peer_died, "node {} is dead", peer_);
  const std::uint32_t most = queue_limit != 0 ? queue_limit : endpoint_.options_.queue_limit;
  if (!refused && k.queued >= most &&
      !SCOLL_MUTANT(queue_unbounded, "the queue of requests grows without end")) {
    refused = make_error(errc::busy, "{} requests to node {} wait for credit: {} is {}", k.queued, peer_,
                         queue_limit != 0 ? "ship.queue" : "link.queue_limit", most);
  }
  if (!refused) {
    waiter.id_ = exchanges_.add(waiter, endpoint_.options_.exchange_limit);
    if (waiter.id_ == 0) {
      refused = make_error(errc::busy, "{} requests to node {} wait for replies: link.exchange_limit is {}",
                           exchanges_.slots(), peer_, endpoint_.options_.exchange_limit);
    }
  }
  if (refused) {
    endpoint_.release_message(m);
    return refused;
  }
  waiter.session_ = this;
  waiter.queued_ = &m;
  waiter.transmitted_ = false;
  waiter.klass_ = klass;
  waiter.reply_capacity_ = reply_capacity;
  waiter.parts_heard_ = 0;
  m.requester_ = &waiter;
  store_little(m.envelope(), waiter.id_);
  store_little(m.envelope() + 8, reply_capacity);
  store_little(m.envelope() + 12, waiter.parts_allowed_);
  ++pending_exchanges_[index(lane_of(klass))];
  enqueue(m, klass, frame_type::request);
  if (invites_bulk()) lane_at(lane_id::bulk);
  return {};
}

bool session::owes_as_client() const noexcept {
  return endpoint_.options_.client && !incoming_.empty();
}

bool session::invites_bulk() const noexcept {
  return endpoint_.options_.client && pending_exchanges_[index(lane_id::control)] != 0 &&
         endpoint_.usage().regions.used != 0;
}

/// The cancel overtakes everything that waits on the request's lane, but never the request itself.
void session::send_cancel(const exchange& waiter, bool answer_awaited, errc why) noexcept {
  if (SCOLL_MUTANT(cancel_not_sent, "a peer is not told that its answer is not wanted any more")) return;
  send_note(waiter, answer_awaited ? cancel_kinds::abort : cancel_kinds::cancel, why, 0);
}

/// Sends a frame of type cancel about an exchange whose request has been sent.
void session::send_note(const exchange& waiter, std::uint16_t kind, errc why, std::uint32_t parts) noexcept {
  message& note = endpoint_.acquire_message();
  store_little(note.envelope(), waiter.id_);
  store_little(note.envelope() + 8, kind);
  store_little(note.envelope() + 10, static_cast<std::uint16_t>(why));
  store_little(note.envelope() + 12, parts);
  const bool control = lane_of(waiter.klass_) == lane_id::control;
  enqueue(note, control ? traffic_class::urgent : waiter.klass_, frame_type::cancel);
}

void session::cancel_exchange(exchange& waiter, errc why) noexcept {
  if (waiter.linked()) {  // its session has ended, and it has not been told so yet
    waiter.unlink();
    waiter.session_ = nullptr;
    return;
  }
  if (message* m = std::exchange(waiter.queued_, nullptr)) {
    m->requester_ = nullptr;
    const bool still_queued =
        !waiter.transmitted_ &&
        !SCOLL_MUTANT(taken_back_and_sent, "a request that is taken back leaves all the same");
    if (still_queued) {
      m->unlink();
      --classes_[index(waiter.klass_)].queued;
      release(*m);
    }
  }
  if (waiter.transmitted_) send_cancel(waiter, false, why);
  forget(waiter);
}

void session::move_exchange(exchange& from, exchange& to) noexcept {
  SCOLL_ASSERT(!to.pending(), "an exchange moves to a free one");
  to.session_ = std::exchange(from.session_, nullptr);
  to.queued_ = std::exchange(from.queued_, nullptr);
  if (to.queued_ != nullptr) to.queued_->requester_ = &to;
  to.id_ = from.id_;
  to.reply_capacity_ = from.reply_capacity_;
  to.parts_allowed_ = from.parts_allowed_;
  to.parts_heard_ = from.parts_heard_;
  to.klass_ = from.klass_;
  to.transmitted_ = from.transmitted_;
  to.into_ = {};
  exchanges_.replace(to.id_, to);
}

void session::end_exchange(exchange& waiter, reply_event& event) noexcept {
  if (event.final) forget(waiter);
  event.reached = waiter.transmitted_;
  waiter.on_reply_(waiter, event);
}

lent_range session::place(const frame_header& header, std::span<const std::byte> head) noexcept {
  if (header.type == frame_type::request) {
    if (endpoint_.draining_ || !classes_[index(header.klass)].credits.may_receive()) return {};
    return endpoint_.handler_of(header.klass)
        .place_payload(head.subspan(message::envelope_bytes), header.payload_bytes);
  }
  if (header.type != frame_type::reply) return {};
  const exchange* waiter = exchanges_.find(load_little<std::uint64_t>(head.data()));
  const bool fits = waiter != nullptr && waiter->transmitted_ && waiter->into_.size == header.payload_bytes;
  return fits && load_little<std::uint16_t>(head.data() + 8) == 0 ? waiter->into_ : lent_range{};
}

status session::on_reply(frame_view& frame) noexcept {
  const std::byte* envelope = frame.head.data();
  exchange* waiter = exchanges_.find(load_little<std::uint64_t>(envelope));
  if (waiter == nullptr) {
    ++endpoint_.statistics_.late_replies;
    return {};
  }
  if (!waiter->transmitted_) return error(errc::malformed, "a reply to a request that was not sent");
  const auto code = static_cast<errc>(load_little<std::uint16_t>(envelope + 8));
  const auto flags = load_little<std::uint16_t>(envelope + 10);
  const bool final = flags != 0;
  const std::size_t size = frame.header.payload_bytes;
  reply_event event;
  if (code == errc::ok && size > waiter->reply_capacity_ &&
      !SCOLL_MUTANT(reply_bound_ignored, "a reply may be larger than was announced")) {
    if (!final) send_cancel(*waiter, false, errc::too_large);
    event.outcome = make_error(errc::too_large, "node {} replied {} bytes, {} were announced", peer_, size,
                               waiter->reply_capacity_);
  } else if (!final && size != 0 && waiter->parts_allowed_ != 0 &&
             ++waiter->parts_heard_ > waiter->parts_allowed_) {
    send_cancel(*waiter, false, errc::malformed);
    event.outcome = make_error(errc::malformed, "node {} sent part {} of a reply, {} were allowed", peer_,
                               waiter->parts_heard_, waiter->parts_allowed_);
  } else if (code == errc::ok) {
    event.final = final;
    event.head = frame.head.subspan(message::envelope_bytes);
    event.payload = std::move(frame.payload);
    event.payload_bytes = frame.header.payload_bytes;
    event.fate = frame.fate;
    if (frame.header.payload_checked) event.payload_checksum = frame.header.payload_checksum;
  } else {
    event.refused = (flags & reply_flags::may_have_effects) == 0;
    const auto text = frame.payload.bytes;
    event.outcome = error(code, {reinterpret_cast<const char*>(text.data()), text.size()});
  }
  end_exchange(*waiter, event);
  return {};
}

// ---- the answering side

void session::on_request(frame_view& frame) noexcept {
  classes_[index(frame.header.klass)].credits.on_received();
  const auto id = load_little<std::uint64_t>(frame.head.data());
  request_view view(*this, id, frame.header.klass, load_little<std::uint32_t>(frame.head.data() + 8), frame);
  if (endpoint_.draining_) return view.refuse({errc::closed, "the node is shutting down"});
  if (with_client() && frame.header.klass < traffic_class::call)
    return view.refuse({errc::not_member, "a client is in no group"});
  endpoint_.handler_of(frame.header.klass).on_request(view);
  if (!view.settled()) view.refuse({errc::unsupported, "no service takes this request"});
}

void request_view::accept(incoming& work) noexcept {
  SCOLL_ASSERT(!settled_ && !work.open(), "a request is settled once, by a free incoming");
  settled_ = true;
  work.session_ = &from_;
  work.exchange_id_ = exchange_id_;
  work.serial_ = from_.serial_;
  work.klass_ = klass_;
  work.parts_allowed_ = load_little<std::uint32_t>(frame_.head.data() + 12);
  work.parts_sent_ = 0;
  work.heard_ = nullptr;
  work.holds_credit_ = true;
  from_.owed_calls_ += klass_ == traffic_class::call;
  from_.incoming_.push_back(work);
}

void request_view::refuse(const error& reason, bool may_have_effects) noexcept {
  SCOLL_ASSERT(!settled_, "a request is settled once");
  settled_ = true;
  if (!SCOLL_MUTANT(lost_credit, "a refused request keeps its credit")) from_.dispose(klass_);
  from_.send_refusal(exchange_id_, klass_, reason, may_have_effects);
}

void session::on_cancel(std::span<const std::byte> head) noexcept {
  const auto exchange_id = load_little<std::uint64_t>(head.data());
  const auto kind = load_little<std::uint16_t>(head.data() + 8);
  if (kind > cancel_kinds::more_parts) return;
  const cancel_reason reason{kind == cancel_kinds::abort,
                             known_reason(load_little<std::uint16_t>(head.data() + 10))};
  for (incoming* work = incoming_.first(); work != nullptr; work = incoming_.next(*work)) {
    if (work->exchange_id_ == exchange_id) {
      if (kind == cancel_kinds::more_parts)
        return work->allow_parts(load_little<std::uint32_t>(head.data() + 12));
      return endpoint_.handler_of(work->klass_).on_cancelled(*work, reason);
    }
  }
}

void session::send_reply(std::uint64_t exchange_id, traffic_class klass, message& m, const error& outcome,
                         bool final) noexcept {
  store_little(m.envelope(), exchange_id);
  store_little(m.envelope() + 8, static_cast<std::uint16_t>(outcome.code()));
  store_little(m.envelope() + 10, static_cast<std::uint16_t>(final));
  store_little(m.envelope() + 12, std::uint32_t{0});
  m.header().type = frame_type::reply;
  if (lane_of(klass) == lane_id::bulk && bulk_lost()) hollow(m);
  enqueue(m, klass, frame_type::reply);
}

void session::send_refusal(std::uint64_t exchange_id, traffic_class klass, const error& reason,
                           bool may_have_effects) noexcept {
  message& m = endpoint_.acquire_message();
  m.set_head_bytes(0);
  const auto text = std::as_bytes(std::span(reason.text()));
  m.copy_payload(text, wire::checksum(text));
  send_reply(exchange_id, klass, m, reason, true);
  if (may_have_effects)
    store_little(m.envelope() + 10,
                 static_cast<std::uint16_t>(reply_flags::final | reply_flags::may_have_effects));
}

void session::dispose(traffic_class klass) noexcept {
  classes_[index(klass)].credits.on_disposed();
  grant_if_low(klass);
}

std::uint32_t session::window_of(traffic_class klass) const noexcept {
  return endpoint_.options_.window[index(klass)];
}

/// Credit mostly travels with other messages; it travels alone only when the peer is about to run out of it.
void session::grant_if_low(traffic_class klass) noexcept {
  if (classes_[index(klass)].credits.low(window_of(klass))) lane_at(lane_of(klass)).acknowledge_now();
}

}  // namespace scoll::transport
