#include "scoll/collective/operation/times.hpp"

#include <algorithm>
#include <chrono>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/remaining_time.hpp"

namespace scoll::detail {
namespace {

constexpr nanoseconds least_margin = std::chrono::microseconds(100);
constexpr nanoseconds largest_margin = std::chrono::milliseconds(20);

// Bounds for durations from the network, so that sums cannot overflow: the allowance for one level is counted
// once for every level of the deepest tree, a chain of a million members.
constexpr nanoseconds longest = nanoseconds(INT64_MAX / 64);
constexpr nanoseconds longest_per_level = std::chrono::hours(1);

nanoseconds from_wire(std::uint64_t value) {
  return nanoseconds(static_cast<std::int64_t>(std::min(value, static_cast<std::uint64_t>(longest.count()))));
}

nanoseconds from_wire_us(std::uint32_t value) {
  return std::min<nanoseconds>(std::chrono::microseconds(value), longest_per_level);
}

}  // namespace

status operation_times::set_bounds(time_limit whole, time_point now, nanoseconds round_trip,
                                   nanoseconds level_margin, nanoseconds processing_bound,
                                   std::int64_t levels) {
  rtt = round_trip;
  processing = processing_bound;
  limit = whole;
  by_deadline = !limit.unlimited();
  if (!by_deadline) {
    margin = level_margin;
    return {};
  }
  const nanoseconds left = limit.left(now);
  margin = std::clamp(std::chrono::floor<std::chrono::microseconds>(left / (4 * levels)) + nanoseconds(0),
                      least_margin, largest_margin);
  const nanoseconds needed = 2 * levels * least_margin;
  if (left > needed) return {};
  if (left == nanoseconds(0))
    return error(errc::deadline_exceeded, "no time was left before the broadcast began");
  return make_error(errc::deadline_exceeded,
                    "a deadline of {} us is too short for {} levels: more than {} us needed",
                    left.count() / 1000, levels, needed.count() / 1000);
}

void operation_times::begin_as_root(time_point now, std::int64_t levels, nanoseconds finishing) {
  started = now;
  expires = by_deadline ? limit.from(started).less(finishing).at
                        : saturating_add(started, levels * (rtt + margin) + processing + bulk);
}

void operation_times::begin_as_member(time_point now, const collective_head& head, std::int64_t levels) {
  started = now;
  margin = from_wire_us(head.margin_us);
  rtt = from_wire_us(head.rtt_us);
  processing = from_wire(head.processing_ns);
  by_deadline = head.remaining_ns != 0;
  if (by_deadline) {
    nanoseconds kept = margin;
    if (SCOLL_MUTANT(margin_not_kept, "a member uses all of the time that its parent has")) kept = {};
    expires = started + from_wire(head.remaining_ns) - kept;
  } else {
    expires = saturating_add(started, (levels - 1) * (rtt + margin) + processing + bulk + margin / 2);
  }
}

time_point time_to_admit(time_point arrived, const collective_head& head) {
  if (head.remaining_ns == 0) return saturating_add(arrived, from_wire(head.processing_ns));
  return arrived + from_wire(head.remaining_ns) - from_wire_us(head.margin_us);
}

time_point operation_times::child_due(time_point now, std::int64_t levels, nanoseconds to_child) const {
  if (by_deadline) return std::min(expires, first_round_ends);
  const nanoseconds per_level = std::max(rtt, to_child) + margin;
  if (SCOLL_MUTANT(timeout_without_cascade, "a child is awaited as if it had no subtree")) levels = 1;
  return std::min(expires, saturating_add(now, levels * per_level + processing + bulk));
}

std::uint64_t operation_times::remaining_ns(time_point now) const {
  return by_deadline ? remaining_on_wire(std::min(expires, first_round_ends), now) : 0;
}

void operation_times::shorten_to_round_trip(time_point now, std::int64_t levels) {
  expires = std::min(expires, saturating_add(now, (levels - 1) * (rtt + margin) + margin / 2));
}

time_point operation_times::child_due_in_round_trip(time_point now, std::int64_t levels) const {
  return std::min(expires, saturating_add(now, levels * (rtt + margin)));
}

nanoseconds operation_times::extend(nanoseconds bound) {
  if (by_deadline || bound <= processing) return nanoseconds(0);
  const nanoseconds more = bound - processing;
  processing = bound;
  expires = saturating_add(expires, more);
  return more;
}

}  // namespace scoll::detail
