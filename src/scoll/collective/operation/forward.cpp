#include <algorithm>
#include <utility>

#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/operation/reply_stream.hpp"
#include "scoll/collective/operation/trace.hpp"
#include "scoll/collective/round_trips.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// The way down: a request is checked, forwarded and executed.
namespace scoll::detail {

/// Returns false if the request was refused.
bool operation::take_request() {
  if (out_of_time()) {
    fail_before_forwarding(why_ended("there was no time to begin"), phase::admission);
    return false;
  }
  if (only_forwards()) return true;
  const std::uint64_t last_counter = subject_.group->rooted->last;
  if (subject_.is_root() && subject_.head.is_broadcast() && last_counter != 0 && last_counter != counter) {
    fail_before_forwarding(after_the_last(), phase::admission);
    return false;
  }
  const status decoded = values_.decode_request(request_part());
  if (!decoded) fail_before_forwarding(decoded.error(), phase::admission);
  return decoded.has_value();
}

/// Runs `prepare` if it is a plain function. Returns false if the operation must not go on.
bool operation::prepare_now() {
  if (subject_.is_relay()) {
    if (bulk_ != nullptr) bulk_->decline(times_.expires);
    return true;
  }
  if (own_.elsewhere) return passes_round();
  if (!table().prepare.plain()) return bulk_ == nullptr || prepared({});
  const status checked = table().prepare(subject_.service->instance, values_.request(), context_).take();
  return prepared(SCOLL_MUTANT(plain_refusal_ignored, "a plain `prepare` cannot refuse") ? status()
                                                                                         : checked);
}

/// This node's part in the broadcast is done by another operation. The root offers its bulk data in each round; a
/// member has them already, or has failed, and those below it read them elsewhere.
bool operation::passes_round() {
  if (bulk_ == nullptr) return true;
  const bool silent =
      SCOLL_MUTANT(round_offers_no_bulk, "a further round says that there are bulk data, and gives none");
  if (!subject_.is_root() || silent) {
    bulk_->decline(times_.expires);
    return true;
  }
  const status exposed = expose_bulk();
  if (!exposed) fail_before_forwarding(exposed.error(), phase::bulk);
  return exposed.has_value();
}

task<bool> operation::prepare() {
  const hook_set::state& asked = spawn_hook(
      table().prepare(subject_.service->instance, values_.request(), context_), hook_kind::prepare);
  const bool done = co_await until(asked.done);
  co_return prepared(done ? asked.outcome : status(why_ended("prepare has not returned")));
}

/// Returns true if the operation may go on after `prepare` ended with `checked`.
bool operation::prepared(status checked) {
  if (checked && out_of_time()) checked = why_ended("prepare returned too late");
  if (checked && !children_.empty()) checked = encode_rewritten();
  if (checked && bulk_ != nullptr) checked = expose_bulk();
  if (!checked) fail_before_forwarding(own_.closed ? own_.closed : checked.error(), phase::prepare);
  return checked.has_value() ||
         SCOLL_MUTANT(forwards_though_refused, "a request that `prepare` refused is forwarded");
}

/// Encodes the request again, because `prepare` may have rewritten it: the rewritten request is forwarded.
status operation::encode_rewritten() {
  transport::buffer_ref buffer = engine_->endpoint_.acquire_payload();
  if (!buffer) return engine_->wire().no_payload_left("a rewritten request");
  const std::size_t before = subject_.bytes_before_request();
  std::byte* const at = std::ranges::copy(request_.forwarded.bytes.first(before), buffer.data()).out;
  const auto size = table().encode_request(values_.request(), {at, max_request_bytes});
  if (!size) return size.error();
  const std::span<const std::byte> bytes(buffer.data(), before + *size);
  request_.received = std::exchange(request_.forwarded, {std::move(buffer), bytes});
  return {};
}

void operation::fail_before_forwarding(const error& why, phase where) {
  const std::uint16_t index = note(where, why);
  if (is_last() && subject_.group->rooted->last == counter)
    subject_.group->rooted->last = 0;  // it has not left
  mark_self(own_.elsewhere ? member_state::unknown : member_state::failed, index);
  kept().fail(where, why);
  for (child& c : children_.all()) {
    mark_subtree(c, member_state::not_reached, index);
    c.at = child::stage::settled;
  }
  children_.unsettled = 0;
  own_.settled = true;
  if (bulk_ == nullptr) return;
  tell_bulk_failed(why);
  bulk_->decline(times_.expires);
}

void operation::forward() {
  children_.unsettled = children_.size();
  if (trace_ != nullptr) trace_->prepared();
  if (!children_.empty()) request_.checksum = wire::checksum(request_.forwarded.bytes);
  const bool measures = subject_.is_root() && root_.round_of == nullptr;
  nanoseconds slowest{0};
  nanoseconds measured{0};
  for (child& c : children_.all()) {
    const transport::session* const to = send_to(c);
    if (to == nullptr || !measures) continue;
    slowest = std::max(slowest, round_trip_to(engine_->options_, *to));
    measured = std::max(measured, to->rtt().safe());
  }
  if (measures) {
    subject_.group->round_trip = slowest;
    subject_.group->measured_round_trip = measured;
  }
  rearm();
}

/// Returns the session with the child, if there is one.
const transport::session* operation::send_to(child& c) {
  const std::uint32_t rank = subject_.rank_at(c.relative);
  transport::session* const session = engine_->session_to(*subject_.group, rank);
  c.at = child::stage::arrived;
  c.lost = true;
  if (session == nullptr) {
    c.reason =
        make_error(errc::unreachable, "no address is known for node {}", subject_.group->members->node(rank));
    progress_.set();
    return nullptr;
  }
  c.loaded = !session->dead() && creation_rides_to(c);
  if (c.loaded && loaded_ == nullptr) {
    if (const status loaded = load_creation(); !loaded) {
      c.reason = loaded.error();
      progress_.set();
      return session;
    }
  }
  const std::uint32_t capacity = most_answer_bytes(subject_.head, values_.reply_capacity(c.nodes));
  parts().expect(c);
  transport::message& request = make_request(c, round_trip_to(engine_->options_, *session));
  const status sent = session->request(c, transport::traffic_class::collective, request, capacity);
  if (!sent) {
    c.reason = sent.error();
    progress_.set();
    return session;
  }
  if (trace_ != nullptr) trace_->sent(children_.index_of(c));
  c.at = child::stage::pending;
  c.lost = false;
  return session;
}

/// Makes the request for one child. The head is the child's own; all children share the payload unless it is
/// small.
transport::message& operation::make_request(child& c, nanoseconds round_trip) {
  transport::message& m = engine_->endpoint_.acquire_message();
  const time_point now = engine_->executor_.now();
  c.due = times_.child_due(now, c.levels, round_trip);
  subject_.head.remaining_ns = times_.remaining_ns(now);
  subject_.head.processing_ns = static_cast<std::uint64_t>(times_.processing.count());
  if (!c.loaded) return put_request(m, subject_.head, request_.forwarded, request_.checksum);
  ++subject_.group->creations_sent;
  return put_request(m, head_with_creation(), loaded_->payload, loaded_->checksum);
}

transport::message& operation::put_request(transport::message& m, const collective_head& head,
                                           const transport::buffer_view& payload, std::uint64_t checksum) {
  wire::writer out(m.head_space());
  wire::encode(out, head);
  if (bulk_ != nullptr) wire::encode(out, bulk_->head_for_children());
  if (caller_) wire::encode(out, *caller_);
  SCOLL_ASSERT(out.ok(), "a collective head exceeds a message head");
  m.set_head_bytes(out.needed());
  // With a second head there is no room for a payload inside the message.
  if (bulk_ == nullptr && !caller_ && payload.bytes.size() <= transport::message::inline_payload_bytes) {
    m.copy_payload(payload.bytes, checksum);
  } else {
    m.share_payload(payload, checksum);
  }
  return m;
}

/// Waits until the requests to children have left, before an `execute` starts that may hold this thread for a
/// while.
event::awaiter operation::forwards_left() noexcept {
  submitted_.reset();
  engine_->executor_.schedule_late(submitting_);
  return submitted_.wait();
}

void operation::on_submitted() {
  engine_->executor_.flush_io();
  submitted_.set();
}

void operation::start_execute() {
  if (subject_.is_relay()) return executed().finish(other_version());
  if (out_of_time() || own_.elsewhere) return;
  if (own_.closed) return executed().finish(own_.closed);
  own_.begun = true;
  if (trace_ != nullptr) trace_->begun();
  ++engine_->statistics_.executed;
  void* const reply = stream_ != nullptr ? static_cast<void*>(&stream_->sink()) : values_.make_room_for_own();
  void* const instance = subject_.service->instance;
  if (table().execute.plain()) {
    executed().finish(table().execute(instance, values_.request(), reply, context_).returned());
    if (trace_ != nullptr) trace_->ended();
    return;
  }
  spawn_hook(table().execute(instance, values_.request(), reply, context_), hook_kind::execute);
}

error operation::other_version() const {
  const error said =
      make_error(errc::version_mismatch, "the request has version {}, this node serves version {}",
                 subject_.head.service_version, table().version);
  return {said.code(), said.text(), table().version};
}

}  // namespace scoll::detail
