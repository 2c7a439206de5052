#include <algorithm>
#include <array>

#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// How long an operation may take, and what happens when its time is over.
namespace scoll::detail {

// ---- time

error operation::why_out_of_time(std::string_view what) const noexcept {
  return {cancelled_ ? errc::cancelled : errc::deadline_exceeded, what};
}

status operation::set_bounds(const bcast_options& options) {
  constexpr nanoseconds least_margin = std::chrono::microseconds(100);
  constexpr nanoseconds largest_margin = std::chrono::milliseconds(20);
  const auto levels = static_cast<std::int64_t>(tree_.subtree_levels(members_, relative_));
  rtt_ = engine_->options_.rtt_estimate;
  processing_ = options.processing_bound.count() > 0 ? options.processing_bound : table_->processing_bound;
  limit_ = options.deadline;
  by_deadline_ = !limit_.unlimited();
  const nanoseconds left = limit_.left(engine_->executor_.now());
  margin_ = by_deadline_ ? std::clamp(left / (4 * levels), least_margin, largest_margin)
                         : engine_->options_.level_margin;
  head_.rtt_ns = static_cast<std::uint64_t>(rtt_.count());
  head_.margin_ns = static_cast<std::uint64_t>(margin_.count());
  if (!by_deadline_ || left > 2 * levels * least_margin) return {};
  if (left == nanoseconds(0))
    return error(errc::deadline_exceeded, "no time was left before the broadcast began");
  return make_error(errc::deadline_exceeded,
                    "a deadline of {} us is too short for {} levels: more than {} us needed",
                    left.count() / 1000, levels, 2 * levels * least_margin.count() / 1000);
}

/// What is kept for a `finish` that has to be waited for.
nanoseconds operation::finishing_time() const noexcept {
  return table_->finish != nullptr ? margin_ / 4 : nanoseconds(0);
}

void operation::set_root_times() {
  started_ = engine_->executor_.now();
  const auto levels = static_cast<std::int64_t>(tree_.subtree_levels(members_, relative_));
  if (by_deadline_) {
    expires_ = limit_.from(started_).less(finishing_time()).at;
  } else {
    expires_ = saturating_add(started_, levels * (rtt_ + margin_) + processing_);
  }
}

void operation::set_times_from_head(const collective_head& head) {
  constexpr std::uint64_t longest = INT64_MAX / 64;
  const auto ns = [longest](std::uint64_t value) {
    return nanoseconds(static_cast<std::int64_t>(std::min(value, longest)));
  };
  started_ = engine_->executor_.now();
  margin_ = ns(head.margin_ns);
  rtt_ = ns(head.rtt_ns);
  processing_ = ns(head.processing_ns);
  by_deadline_ = head.remaining_ns != 0;
  const auto levels = static_cast<std::int64_t>(tree_.subtree_levels(members_, relative_));
  expires_ =
      by_deadline_
          ? started_ + ns(head.remaining_ns) - (SCOLL_MUTANT(margin_not_kept) ? nanoseconds(0) : margin_)
          : saturating_add(started_, (levels - 1) * (rtt_ + margin_) + processing_ + margin_ / 2);
  rearm();
}

void operation::rearm() {
  time_point next = expires_;
  for (const child& c : children()) {
    if (c.at == child::state::pending) next = std::min(next, c.due);
  }
  if (timer_.armed()) {
    if (timer_.at() <= next) return;
    engine_->executor_.disarm(timer_);
  }
  if (next != never && !SCOLL_MUTANT(timer_not_armed)) engine_->executor_.arm(timer_, next);
}

void operation::timer_disarm() noexcept {
  if (timer_.armed()) engine_->executor_.disarm(timer_);
}

void operation::on_timer() noexcept {
  const time_point now = engine_->executor_.now();
  if (now >= expires_) {
    expired_ = late_ = true;
    if (stop_) stop_->request_stop();
    return progress_.set();
  }
  for (child& c : children()) {
    if (c.at != child::state::pending || c.due > now) continue;
    c.reached = c.cancel();
    c.refused = false;
    c.lost = true;
    c.reason = make_error(errc::deadline_exceeded, "no answer from the subtree of {} nodes in time", c.nodes);
    c.at = child::state::arrived;
    progress_.set();
  }
  rearm();
}

void operation::expire_by(time_point at) noexcept {
  expires_ = std::min(expires_, at);
  rearm();
}

/// From now on an answer takes the way and no work.
void operation::abort_children() {
  const time_point now = engine_->executor_.now();
  const auto levels = static_cast<std::int64_t>(tree_.subtree_levels(members_, relative_));
  expires_ = std::min(expires_, saturating_add(now, (levels - 1) * (rtt_ + margin_) + margin_ / 2));
  for (child& c : children()) {
    if (c.at != child::state::pending) continue;
    c.due = std::min(expires_, saturating_add(now, c.levels * (rtt_ + margin_)));
    if ((SCOLL_MUTANT(abort_not_forwarded) && !is_root_) || c.abort()) continue;
    c.at = child::state::arrived;
    c.lost = true;
    c.reached = c.refused = false;
    c.reason = why_out_of_time("the request had not been sent");
  }
  rearm();
}

/// This node, or one below it, needs longer than the root thought.
void operation::extend(nanoseconds bound) {
  if (by_deadline_ || cancelled_ || answered_ || bound <= processing_) return;
  const nanoseconds more = bound - processing_;
  processing_ = bound;
  expires_ = saturating_add(expires_, more);
  head_.processing_ns = static_cast<std::uint64_t>(bound.count());
  for (child& c : children()) {
    if (c.at == child::state::pending) c.due = std::min(expires_, saturating_add(c.due, more));
  }
  if (!parent_.open()) return;
  transport::message& m = engine_->endpoint_.acquire_message();
  collective_reply_head head;
  head.flags = collective_reply_head::extension;
  head.processing_ns = static_cast<std::uint64_t>(bound.count());
  const auto size = wire::encode_to(m.head_space(), head);
  m.set_head_bytes(*size);
  m.copy_payload({}, wire::checksum({}));
  parent_.reply_part(m);
}

void operation::on_extension(child& c, nanoseconds bound) {
  if (by_deadline_ || cancelled_) return;
  extend(bound);
  c.due = std::min(expires_, saturating_add(engine_->executor_.now(), c.levels * (rtt_ + margin_) + bound));
  rearm();
}

}  // namespace scoll::detail
