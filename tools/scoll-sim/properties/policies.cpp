#include <algorithm>

#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"

// What a broadcast chose to do about members that fail.
namespace scoll::sim {
namespace {

/// The time at which the first member had failed by itself, as far as its hook tells; nothing if none had.
std::optional<nanoseconds> first_failure(const broadcast_record& b) {
  std::optional<nanoseconds> first;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    const bool own = b.account.state(rank) == member_state::failed && why.where == phase::execute &&
                     why.reporter == rank && holds(b.request.failing, rank);
    const member_record& m = b.members[rank];
    if (own && why.what == errc::io_error && m.begun == 1)
      first = std::min(first.value_or(m.last_left), m.last_left);
  }
  return first;
}

/// Without faults, a broadcast that is to fail fast ends soon after the first failure: in one way up, and the
/// way down and up of the stop, unless hooks ignore that.
void fail_fast_is_fast(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || b.options.on_failure != fail_fast) return;
  const auto failed = first_failure(b);
  if (!failed) return;
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto levels = any_tree::resolve(b.group->tree, n)->subtree_levels(n, 0);
  const nanoseconds for_the_deaf = deaf(b.number) ? longest_way(levels, nanoseconds(0)) : nanoseconds(0);
  if (b.ended > *failed + long_way + for_the_deaf)
    report(found, "fail fast is fast", b,
           fmt::format("it ended {} us after a failure", (b.ended - *failed).count() / 1000));
}

/// The status of a broadcast that failed fast is the cause of one of its members, or of an end from outside.
void fail_fast_tells_the_cause(const broadcast_record& b, violations& found) {
  if (!b.failed_fast() || b.account.members() == 0) return;
  const error& why = b.outcome_status.error();
  const bool told = std::ranges::any_of(b.account.causes(), [&](const cause& of) {
    return of.what == why || of.what.code() == why.code() || of.what == errc::incomplete;
  });
  if (!told && !is_early_end(why.code()))
    report(found, "fail fast tells the cause", b, "no member has that cause");
}

}  // namespace

void check_policies(const broadcast_record& b, const cluster& c, violations& found) {
  fail_fast_is_fast(b, c, found);
  fail_fast_tells_the_cause(b, found);
}

}  // namespace scoll::sim
