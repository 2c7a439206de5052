#include <algorithm>

#include "tools/scoll-sim/properties/broadcast_report.hpp"

// What a trace says of a broadcast, compared with what has happened.
namespace scoll::sim {
namespace {

bool in_order(nanoseconds a, nanoseconds b, nanoseconds c) noexcept {
  return a <= b && b <= c;
}

/// The steps of a member follow one another, and lie within its parent's exchange with it.
void spans_nest(const broadcast_record& b, violations& found) {
  for (const trace_span& s : b.trace.spans()) {
    const nanoseconds prepared = s.prepared.value_or(s.arrived), begun = s.begun.value_or(prepared);
    bool nests = in_order(s.arrived, prepared, begun) && in_order(begun, s.ended.value_or(begun), s.answered);
    if (s.parent) {
      const trace_span* const parent = b.trace.find(*s.parent);
      const auto link = std::ranges::find(parent->children, s.rank, &trace_link::rank);
      nests = nests && in_order(link->sent, s.arrived, s.answered) && s.answered <= *link->answered;
    }
    if (!nests) report(found, "spans nest", b, fmt::format("rank {}", s.rank));
  }
}

/// Every member that has answered has its place in the trace, and so has one that is merged, unless the trace says
/// that some were dropped. With a condition members are merged before they have answered, and further rounds of
/// one that is repaired have no trace.
void the_merged_are_traced(const broadcast_record& b, violations& found) {
  if (b.trace.dropped() != 0) return;
  const auto is_placed = [&](std::uint32_t rank) { return b.trace.find(rank) != nullptr; };
  for (const trace_span& s : b.trace.spans()) {
    for (const trace_link& to : s.children) {
      if (to.answered && !is_placed(to.rank))
        report(found, "the merged are traced", b, fmt::format("rank {} has answered", to.rank));
    }
  }
  if (b.has_condition() || b.options.on_failure == repair) return;
  b.account.merged().for_each([&](std::uint32_t rank) {
    if (!is_placed(rank)) report(found, "the merged are traced", b, fmt::format("rank {} is missing", rank));
  });
}

/// A trace says within its error when members executed. Clocks that drift add to that error at each level.
void a_trace_is_true(const broadcast_record& b, violations& found) {
  const trace_span& root = b.trace.spans().front();
  const member_record& at_root = b.members[b.root_rank];
  if (!root.begun || at_root.begun != 1) return;
  for (const trace_span& s : b.trace.spans()) {
    const member_record& m = b.members[s.rank];
    if (!s.begun || m.begun != 1) continue;
    const nanoseconds drift =
        (s.level + 2) * 2 * b.most_drift_ppm * (b.trace.took() / 1'000'000 + nanoseconds(1));
    const nanoseconds wrong = (*s.begun - *root.begun) - (m.last_begun - at_root.last_begun);
    if (std::chrono::abs(wrong) > s.error + drift)
      report(found, "a trace is true", b,
             fmt::format("rank {} is placed {} ns off, within {}", s.rank, wrong.count(), s.error.count()));
  }
}

/// A traced member passes the request on before it executes, as all others do. It asks a child again only if that
/// child may not hold the group.
void a_trace_reorders_nothing(const broadcast_record& b, violations& found) {
  if (b.group->delayed || b.options.bulk.given()) return;
  for (const trace_span& s : b.trace.spans()) {
    const auto early = [&](const trace_link& to) { return to.sent <= *s.begun; };
    if (s.begun && !std::ranges::all_of(s.children, early))
      report(found, "a trace reorders nothing", b, fmt::format("rank {} executes first", s.rank));
  }
}

}  // namespace

void check_trace(const broadcast_record& b, violations& found) {
  if (b.trace.empty()) return;
  spans_nest(b, found);
  the_merged_are_traced(b, found);
  a_trace_is_true(b, found);
  a_trace_reorders_nothing(b, found);
}

}  // namespace scoll::sim
