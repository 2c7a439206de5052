#include "transport/session/session.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

using wire::detail::load_little;
using wire::detail::store_little;

namespace {

constexpr std::size_t index(traffic_class c) noexcept {
  return static_cast<std::size_t>(c);
}
constexpr std::size_t index(lane_id l) noexcept {
  return static_cast<std::size_t>(l);
}
// Of a reply.
constexpr std::uint16_t final_flag = 1;
constexpr std::uint16_t may_have_effects_flag = 2;

}  // namespace

session::session(endpoint& owner, node_id peer, std::string address)
    : endpoint_(owner), peer_(peer), address_(std::move(address)) {}

session::~session() {
  shut();
  if (kicked_) endpoint_.executor_.unschedule_late(flush_);
  while (!orphans_.empty()) orphans_.pop_front().session_ = nullptr;
}

bool session::connected(traffic_class klass) const noexcept {
  const auto& l = lanes_[index(lane_of(klass))];
  return l != nullptr && l->up();
}

lane& session::lane_at(lane_id id) {
  auto& l = lanes_[index(id)];
  if (l == nullptr) l = std::make_unique<lane>(*this, id);
  return *l;
}

// ---- exchanges, requesting side

/// The exchange waits no longer: its slot is free, and a request of it that is still held answers to nobody.
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
  if (!refused && dead() && !SCOLL_MUTANT(dead_are_asked))
    refused = make_error(errc::peer_died, "node {} is dead", peer_);
  const std::uint32_t most = queue_limit != 0 ? queue_limit : endpoint_.options_.queue_limit;
  if (!refused && k.queued >= most && !SCOLL_MUTANT(queue_unbounded)) {
    refused = make_error(errc::busy, "{} requests to node {} wait for credit already", k.queued, peer_);
  }
  if (!refused) {
    waiter.id_ = exchanges_.add(waiter, endpoint_.options_.exchange_limit);
    if (waiter.id_ == 0) {
      refused = make_error(errc::busy, "{} requests to node {} wait for replies already", exchanges_.slots(),
                           peer_);
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
  m.requester_ = &waiter;
  store_little(m.envelope(), waiter.id_);
  store_little(m.envelope() + 8, reply_capacity);
  store_little(m.envelope() + 12, std::uint32_t{0});
  ++pending_exchanges_[index(lane_of(klass))];
  enqueue(m, klass, frame_type::request);
  return {};
}

/// Goes ahead of whatever waits on the request's lane, but never ahead of the request.
void session::send_cancel(const exchange& waiter, bool answer_awaited) noexcept {
  if (SCOLL_MUTANT(cancel_not_sent)) return;
  message& note = endpoint_.acquire_message();
  store_little(note.envelope(), waiter.id_);
  store_little(note.envelope() + 8, static_cast<std::uint64_t>(answer_awaited));
  const bool control = lane_of(waiter.klass_) == lane_id::control;
  enqueue(note, control ? traffic_class::urgent : waiter.klass_, frame_type::cancel);
}

void session::cancel_exchange(exchange& waiter) noexcept {
  if (waiter.linked()) {  // its session has ended, and it has not heard of that yet
    waiter.unlink();
    waiter.session_ = nullptr;
    return;
  }
  if (message* m = std::exchange(waiter.queued_, nullptr)) {
    m->requester_ = nullptr;
    const bool still_queued = !waiter.transmitted_ && !SCOLL_MUTANT(taken_back_and_sent);
    if (still_queued) {
      m->unlink();
      --classes_[index(waiter.klass_)].queued;
      release(*m);
    }
  }
  if (waiter.transmitted_) send_cancel(waiter, false);
  forget(waiter);
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
  if (code == errc::ok && size > waiter->reply_capacity_ && !SCOLL_MUTANT(reply_bound_ignored)) {
    if (!final) send_cancel(*waiter, false);
    event.outcome = make_error(errc::too_large, "node {} replied {} bytes, {} were announced", peer_, size,
                               waiter->reply_capacity_);
  } else if (code == errc::ok) {
    event.final = final;
    event.head = frame.head.subspan(message::envelope_bytes);
    event.payload = std::move(frame.payload);
    event.payload_bytes = frame.header.payload_bytes;
    event.fate = frame.fate;
  } else {
    event.refused = (flags & may_have_effects_flag) == 0;
    const auto text = frame.payload.bytes;
    event.outcome = error(code, {reinterpret_cast<const char*>(text.data()), text.size()});
  }
  end_exchange(*waiter, event);
  return {};
}

// ---- exchanges, answering side

void session::on_request(frame_view& frame) noexcept {
  classes_[index(frame.header.klass)].credits.on_received();
  const auto id = load_little<std::uint64_t>(frame.head.data());
  request_view view(*this, id, frame.header.klass, load_little<std::uint32_t>(frame.head.data() + 8), frame);
  if (endpoint_.draining_) return view.refuse({errc::closed, "the node is shutting down"});
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
  work.holds_credit_ = true;
  from_.owed_calls_ += klass_ == traffic_class::call;
  from_.incoming_.push_back(work);
}

void request_view::refuse(const error& reason, bool may_have_effects) noexcept {
  SCOLL_ASSERT(!settled_, "a request is settled once");
  settled_ = true;
  if (!SCOLL_MUTANT(lost_credit)) from_.dispose(klass_);
  from_.send_refusal(exchange_id_, klass_, reason, may_have_effects);
}

void session::on_cancel(std::uint64_t exchange_id, bool answer_awaited) noexcept {
  for (incoming* work = incoming_.first(); work != nullptr; work = incoming_.next(*work)) {
    if (work->exchange_id_ == exchange_id) {
      return endpoint_.handler_of(work->klass_).on_cancelled(*work, answer_awaited);
    }
  }
}

void session::send_reply(std::uint64_t exchange_id, traffic_class klass, message& m, const error& outcome,
                         bool final) noexcept {
  store_little(m.envelope(), exchange_id);
  store_little(m.envelope() + 8, static_cast<std::uint16_t>(outcome.code()));
  store_little(m.envelope() + 10, static_cast<std::uint16_t>(final));
  store_little(m.envelope() + 12, std::uint32_t{0});
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
    store_little(m.envelope() + 10, static_cast<std::uint16_t>(final_flag | may_have_effects_flag));
}

void session::dispose(traffic_class klass) noexcept {
  classes_[index(klass)].credits.on_disposed();
  grant_if_low(klass);
}

std::uint32_t session::window_of(traffic_class klass) const noexcept {
  return endpoint_.options_.window[index(klass)];
}

/// Credit mostly travels with other messages; alone only when the peer is about to run out of it.
void session::grant_if_low(traffic_class klass) noexcept {
  if (classes_[index(klass)].credits.low(window_of(klass))) lane_at(lane_of(klass)).acknowledge_now();
}

// ---- messages

void session::enqueue(message& m, traffic_class klass, frame_type type) noexcept {
  m.header().type = type;
  m.header().klass = klass;
  lane_at(lane_of(klass));
  ++held_;
  class_state& k = classes_[index(klass)];
  if (type == frame_type::request) {
    k.requests.push_back(m);
    ++k.queued;
  } else {
    k.expected.push_back(m);
    if (type == frame_type::reply) k.credits.keep_reply();
  }
  kick();
}

void session::release(message& m) noexcept {
  --held_;
  endpoint_.note_progress();
  if (m.requester_ != nullptr) m.requester_->queued_ = nullptr;
  const frame_header header = m.header();
  endpoint_.release_message(m);
  if (header.type != frame_type::reply) return;
  classes_[index(header.klass)].credits.release_reply();
  if (peer_epoch_ != 0) grant_if_low(header.klass);
}

message* session::peek(lane_id lane, bool requests_too) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    if (lane_of(static_cast<traffic_class>(c)) != lane) continue;
    class_state& k = classes_[c];
    const bool request_ready = requests_too && !k.requests.empty() && k.credits.available() != 0;
    // Replies of bulk are the load itself: a peer that pulls without end must not keep our own requests
    // waiting.
    const bool own_turn = lane == lane_id::bulk && k.replied_last && request_ready;
    if (!k.expected.empty() && !own_turn) return &k.expected.front();
    if (request_ready) return &k.requests.front();
  }
  return nullptr;
}

void session::take(message& m) noexcept {
  m.unlink();
  class_state& k = classes_[index(m.header().klass)];
  k.replied_last = m.header().type != frame_type::request;
  if (m.header().type == frame_type::request) {
    --k.queued;
    k.credits.on_sent();
    ++endpoint_.statistics_.requests_sent;
  } else if (m.header().type == frame_type::reply) {
    ++endpoint_.statistics_.replies_sent;
  }
  if (m.requester_ != nullptr) m.requester_->transmitted_ = true;
}

bool session::work_waiting(lane_id lane) const noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    if (lane_of(static_cast<traffic_class>(c)) != lane) continue;
    if (!classes_[c].expected.empty() || !classes_[c].requests.empty()) return true;
  }
  return false;
}

void session::apply_grants(const frame_header& header) noexcept {
  bool grew = false;
  for (std::size_t c = 0; c < class_count; ++c) {
    if (classes_[c].credits.announce(header.granted[c])) grew |= !classes_[c].requests.empty();
  }
  if (grew) kick();
}

/// Only a lane's own classes are granted anew: should the frame be lost, the lane's next greeting repeats
/// them.
void session::stamp(frame_header& header, lane_id lane) noexcept {
  for (std::size_t c = 0; c < class_count; ++c) {
    const auto klass = static_cast<traffic_class>(c);
    credit_window& credits = classes_[c].credits;
    header.granted[c] = lane_of(klass) == lane ? credits.grant(window_of(klass)) : credits.granted_by_us();
  }
}

void session::kick() noexcept {
  if (kicked_) return;
  kicked_ = true;
  endpoint_.executor_.schedule_late(flush_);
}

void session::flush() noexcept {
  kicked_ = false;
  for (auto& l : lanes_) {
    if (l != nullptr) l->pump();
  }
}

// ---- session life

hello session::make_hello(lane_id lane) const {
  hello h;
  h.lane = static_cast<std::uint8_t>(lane);
  h.node = endpoint_.options_.self;
  h.target = peer_;
  h.incarnation = endpoint_.options_.incarnation;
  h.epoch = epoch_;
  h.known_incarnation = peer_incarnation_;
  h.known_epoch = peer_epoch_;
  h.received = SCOLL_MUTANT(duplicates_delivered) ? 0 : lanes_[index(lane)]->received();
  h.attempt = lanes_[index(lane)]->attempts();
  h.window = endpoint_.options_.window;
  h.cluster = endpoint_.options_.cluster;
  return h;
}

result<bool> session::on_hello(const hello& h, lane& l) noexcept {
  if (h.incarnation < peer_incarnation_ && !SCOLL_MUTANT(stale_hello)) {
    return make_error(errc::stale, "incarnation {} of node {} is older than {}", h.incarnation, peer_,
                      peer_incarnation_);
  }
  if (h.known_incarnation > endpoint_.options_.incarnation) {
    return make_error(errc::stale, "incarnation {} of node {} is older than {}",
                      endpoint_.options_.incarnation, endpoint_.options_.self, h.known_incarnation);
  }
  const bool knows_us = h.known_incarnation == endpoint_.options_.incarnation;
  const bool rebooted = peer_incarnation_ != 0 && h.incarnation > peer_incarnation_;
  if (!rebooted) {
    if (h.epoch < peer_epoch_ || (knows_us && h.known_epoch > epoch_)) {
      return make_error(errc::stale, "the hello of node {} belongs to an older session", peer_);
    }
    if (h.attempt <= l.peer_attempts()) {
      return error(errc::already_exists, "the connection is older than the one in use");
    }
    if (l.greeting() && endpoint_.options_.self < peer_) {
      return error(errc::already_exists, "both sides connect: the smaller node id's connection is used");
    }
  }
  const bool continues = SCOLL_MUTANT(old_session_joined) ||
                         (!rebooted && knows_us && h.epoch == peer_epoch_ && h.known_epoch == epoch_);
  follow(h);
  l.set_peer_attempts(h.attempt);
  return continues;
}

status session::on_welcome(const hello& h, lane& l) noexcept {
  if (h.node != peer_ || h.target != endpoint_.options_.self || h.cluster != endpoint_.options_.cluster) {
    return make_error(errc::not_member, "node {} of cluster '{}' answered at {}", h.node, h.cluster,
                      address_);
  }
  const bool rebooted = peer_incarnation_ != 0 && h.incarnation > peer_incarnation_;
  const bool older = h.incarnation < peer_incarnation_ || (!rebooted && h.epoch < peer_epoch_);
  if (h.known_incarnation != endpoint_.options_.incarnation || h.known_epoch != epoch_ || older) {
    return make_error(errc::stale, "the welcome of node {} belongs to an older session", peer_);
  }
  follow(h);
  l.set_peer_attempts(h.attempt);
  return {};
}

void session::declare_dead(std::uint64_t incarnation) noexcept {
  if (incarnation == 0 || incarnation < peer_incarnation_ || incarnation <= dead_incarnation_) return;
  peer_incarnation_ = dead_incarnation_ = incarnation;
  if (!SCOLL_MUTANT(death_unheard)) fail(make_error(errc::peer_died, "node {} is dead", peer_));
}

void session::declare_alive(std::uint64_t incarnation) noexcept {
  if (incarnation < peer_incarnation_) return;
  live_as(incarnation);
}

/// The peer lives in this incarnation, no earlier one than before.
void session::live_as(std::uint64_t incarnation) noexcept {
  dead_incarnation_ = 0;
  const std::uint64_t before = std::exchange(peer_incarnation_, incarnation);
  if (before == 0 || before == incarnation || SCOLL_MUTANT(reboot_not_noticed)) return;
  reset(make_error(errc::peer_rebooted, "node {} came back with incarnation {}", peer_, incarnation),
        {.unsent = false, .connecting = true});
  for (auto& l : lanes_) {
    if (l != nullptr) l->set_peer_attempts(0);
  }
}

/// Goes into the session of the pair (own epoch, the peer's), if it is not in it already.
void session::follow(const hello& h) noexcept {
  if (h.incarnation > peer_incarnation_) {
    live_as(h.incarnation);
  } else if (peer_epoch_ != 0 && h.epoch != peer_epoch_) {
    reset(make_error(errc::connection_lost, "node {} has given up the session", peer_),
          {.unsent = true, .connecting = true});
  }
  if (peer_epoch_ != 0) return;
  peer_epoch_ = h.epoch;
  for (std::size_t c = 0; c < class_count; ++c) {
    classes_[c].credits.open(std::min(h.window[c], limits::window), endpoint_.options_.window[c]);
  }
}

/// Forgets the sequence state of both lanes and ends what was in flight.
void session::reset(const error& reason, kept keep) noexcept {
  const bool existed = std::exchange(peer_epoch_, 0) != 0;
  intrusive_list<exchange, exchange> ended;
  exchanges_.each([&](exchange& waiter) {
    if (keep.unsent && !waiter.transmitted_) return;
    if (SCOLL_MUTANT(lost_peer_unreported) && waiter.transmitted_) return;
    --pending_exchanges_[index(lane_of(waiter.klass_))];
    exchanges_.remove(waiter.id_);
    ended.push_back(waiter);
  });
  for (class_state& k : classes_) {
    while (!k.expected.empty()) release(k.expected.pop_front());
    while (!keep.unsent && !k.requests.empty()) release(k.requests.pop_front());
    if (k.requests.empty()) k.queued = 0;
    k.credits.reset();
  }
  for (auto& l : lanes_) {
    if (l != nullptr) l->reset(keep.connecting);
  }
  ++serial_;
  owed_calls_ = 0;
  orphans_.splice(incoming_);
  endpoint_.note_progress();
  kick();
  end_all(ended, reason);
  if (existed) ++endpoint_.statistics_.sessions_lost;
  // Of a new life the layers above hear even if the old one had said goodbye.
  if (existed || reason == errc::peer_rebooted) endpoint_.tell_session_lost(*this, reason);
}

/// Tells those who wait. Each may cancel or free others of the list meanwhile.
void session::end_all(intrusive_list<exchange, exchange>& ended, const error& reason) noexcept {
  while (!ended.empty()) {
    exchange& waiter = ended.pop_front();
    waiter.session_ = nullptr;
    reply_event event;
    event.outcome = reason;
    event.reached = waiter.transmitted_;
    waiter.on_reply_(waiter, event);
  }
}

void session::fail(const error& reason) noexcept {
  ++epoch_;
  reset(reason, {.unsent = false, .connecting = false});
}

void session::shut() noexcept {
  fail({errc::closed, "this node is shutting down"});
}

std::size_t session::owing() noexcept {
  std::size_t count = 0;
  for (incoming* work = incoming_.first(); work != nullptr; work = incoming_.next(*work)) ++count;
  return count;
}

bool session::quiet() const noexcept {
  return held_ == 0 && incoming_.empty() && pending_exchanges_[0] == 0 && pending_exchanges_[1] == 0;
}

}  // namespace scoll::transport
