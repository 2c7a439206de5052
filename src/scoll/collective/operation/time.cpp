#include <algorithm>
#include <chrono>
#include <cstdint>

#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// The time limits of an operation, and what happens when they pass.
namespace scoll::detail {
namespace {

/// Rounds up, so that a receiver never allows less than the root.
std::uint32_t micros_on_wire(nanoseconds time) noexcept {
  const std::int64_t micros =
      time / std::chrono::microseconds(1) + (time % std::chrono::microseconds(1) > nanoseconds(0));
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(micros, 0, UINT32_MAX));
}

}  // namespace

/// The reason of the early end. The text `what` is used if the end has no reason beside its cause.
error operation::why_ended(std::string_view what) const noexcept {
  if (ending_.reason) return ending_.reason;
  return {ending_.cause == end_cause::cancelled ? errc::cancelled : errc::deadline_exceeded, what};
}

status operation::set_bounds(const bcast_options& options) {
  const node_options& defaults = engine_->options_;
  const nanoseconds processing =
      options.processing_bound.count() > 0 ? options.processing_bound : table().processing_bound;
  const nanoseconds known = subject_.group->round_trip;
  const nanoseconds round_trip = known.count() == 0 ? defaults.rtt_estimate : known;
  subject_.head.rtt_us = micros_on_wire(round_trip);
  status fits = times_.set_bounds(options.deadline, engine_->executor_.now(), round_trip,
                                  defaults.level_margin, processing, subject_.levels());
  subject_.head.margin_us = micros_on_wire(times_.margin);
  return fits;
}

/// The time kept for a `finish` that is a coroutine.
nanoseconds operation::finishing_time() const noexcept {
  return table().finish.suspends ? times_.finishing() : nanoseconds(0);
}

void operation::rearm() {
  time_point next = times_.expires;
  for (const child& c : children_.all()) {
    if (c.at == child::stage::pending) next = std::min(next, c.due);
  }
  if (root_.repair != nullptr) next = std::min(next, root_.repair->due());
  if (timer_.armed()) {
    if (timer_.at() <= next) return;
    engine_->executor_.disarm(timer_);
  }
  if (next != never && !SCOLL_MUTANT(timer_not_armed, "no timer watches over an operation"))
    engine_->executor_.arm(timer_, next);
}

void operation::timer_disarm() noexcept {
  if (timer_.armed()) engine_->executor_.disarm(timer_);
}

void operation::on_timer() noexcept {
  const time_point now = engine_->executor_.now();
  const bool read =
      bulk_ != nullptr && bulk_->has_readers() &&
      !SCOLL_MUTANT(kept_part_awaits_readers, "a member that keeps its part awaits readers beyond its time");
  if (answered() && kept().is_written() && !read) return static_cast<void>(stop_->request_stop());
  if (now >= times_.expires) return end_by(end_cause::deadline);
  if (root_.repair != nullptr && root_.repair->due() <= now) root_.repair->hurry();
  for (child& c : children_.all()) {
    if (c.at != child::stage::pending || c.due > now) continue;
    const bool reached =
        SCOLL_MUTANT(round_late_answer_taken, "a lost child's answer is taken if it comes late") ||
        c.cancel();
    c.lose(make_error(errc::deadline_exceeded, "no answer from the subtree of {} nodes in time", c.nodes),
           reached);
    progress_.set();
  }
  rearm();
}

void operation::expire_by(time_point at) noexcept {
  times_.expires = std::min(times_.expires, at);
  rearm();
}

/// The code that tells children why they have to stop.
errc operation::code_to_tell() const noexcept {
  return ending_.cause == end_cause::none ? errc::cancelled : why_ended({}).code();
}

/// Asks the children to stop, and awaits their answers for one round trip.
void operation::abort_children() {
  const time_point now = engine_->executor_.now();
  times_.shorten_to_round_trip(now, subject_.levels());
  for (child& c : children_.all()) {
    if (c.at != child::stage::pending) continue;
    c.due = times_.child_due_in_round_trip(now, c.levels);
    if ((SCOLL_MUTANT(abort_not_forwarded, "an abort stops at the children of the root") &&
         !subject_.is_root()) ||
        c.abort(code_to_tell()))
      continue;
    c.lose(why_ended("the request had not been sent"), false);
  }
  rearm();
}

/// This node, or one below it, needs longer than the root assumed.
void operation::extend(nanoseconds bound) {
  if (ending_.asked || answered()) return;
  const nanoseconds more = times_.extend(bound);
  if (more.count() == 0) return;
  subject_.head.processing_ns = static_cast<std::uint64_t>(bound.count());
  for (child& c : children_.all()) {
    if (c.at == child::stage::pending) c.due = std::min(times_.expires, saturating_add(c.due, more));
  }
  const bool tells =
      !SCOLL_MUTANT(extension_untold, "a member does not tell its parent that it needs longer");
  if (open() && tells) tell_extension(bound);
}

/// Tells the parent the new bound in a partial reply.
void operation::tell_extension(nanoseconds bound) {
  transport::message& m = engine_->endpoint_.acquire_message();
  collective_reply_head head;
  head.flags = collective_reply_head::extension;
  head.processing_ns = static_cast<std::uint64_t>(bound.count());
  const auto size = wire::encode_to(m.head_space(), head);
  m.set_head_bytes(*size);
  m.copy_payload({}, wire::checksum({}));
  reply_part(m);
}

void operation::on_extension(child& c, nanoseconds bound) {
  if (times_.by_deadline || ending_.asked) return;
  if (SCOLL_MUTANT(extension_unheard, "a parent does not hear that a child needs longer")) return;
  extend(bound);
  const time_point now = engine_->executor_.now();
  c.due = std::min(times_.expires,
                   saturating_add(now, c.levels * (times_.rtt + times_.margin) + times_.bulk + bound));
  rearm();
}

}  // namespace scoll::detail
