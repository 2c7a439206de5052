#include <algorithm>

#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"

// The properties of the time that broadcasts take, and of broadcasts whose time is over.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

nanoseconds overlap(const fault_record& f, nanoseconds from, nanoseconds until) {
  return std::max(nanoseconds(0),
                  std::min(f.until - fault_record::aftermath, until) - std::max(f.from, from));
}

/// The await ends by its deadline, or by the bound computed from the tree.
void ends_by_its_bound(const broadcast_record& b, const cluster& c, violations& found) {
  // A broadcast that is held has to wait for the gossip, too, unless its caller gave it a deadline.
  // A last broadcast has to wait for the earlier ones in the same way.
  const bool waits = b.held || b.options.last;
  if (b.bound == nanoseconds::max() || (waits && b.options.deadline.unlimited())) return;
  nanoseconds allowed = b.bound + b.bound / 50 + milliseconds(30);
  for (const fault_record& f : c.faults()) {
    if (f.stalls && f.hosts.contains(b.root->host)) allowed += 2 * overlap(f, b.began, b.ended);
  }
  if (b.took > allowed)
    report(found, "ends by its bound", b,
           fmt::format("took {} us of {} us", b.took.count() / 1000, b.bound.count() / 1000));
}

/// A parent answers before its own parent gives up. Without faults, and with a margin longer than the
/// round trip, a late member therefore reports the lateness itself. A member whose service takes its time to
/// name the members of the group may have less time left than that for those below it.
void the_late_speak_for_themselves(const broadcast_record& b, const cluster& c, violations& found) {
  constexpr nanoseconds ample = milliseconds(15);
  // The first request to a peer waits for the handshake, and a long one takes more than the margin.
  const bool greets_long = c.guards() && c.guards()->keys().form().rounds > 1;
  if (!c.faults().empty() || b.cancelled || is_revoked(b) || greets_long) return;
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto tree = tree_of(b);
  const nanoseconds given = b.options.deadline.left({});
  if (b.held || b.options.last || given < 4 * ample * static_cast<std::int64_t>(tree->subtree_levels(n, 0)))
    return;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    const bool admitted_late =
        b.group->mapped && b.group->mapped->slow.contains(b.group->members.at(why.reporter));
    if (why.where == phase::delivery && why.what == errc::deadline_exceeded && !admitted_late)
      report(found, "the late speak for themselves", b, fmt::format("rank {} did not", rank));
  }
}

/// Without faults a cancelled broadcast returns at once or, if hooks ignore their stop token, when the time
/// for an abort is over.
void a_stop_is_heard(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || !b.cancelled) return;
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto levels = tree_of(b)->subtree_levels(n, 0);
  const nanoseconds for_the_deaf = longest_way(levels, nanoseconds(0));
  const nanoseconds stopped =
      std::max(b.cancelled_at, b.began);  // a root may have to find the group at first
  if (b.ended > stopped + long_way + (deaf(b.number) ? for_the_deaf : nanoseconds(0)))
    report(found, "a stop is heard", b,
           fmt::format("after {} us", (b.ended - b.cancelled_at).count() / 1000));
}

/// Without faults, and with time left, every member answers an abort, even if only to report unknown states.
void an_abort_is_acknowledged(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || !b.cancelled || b.cancelled_at + long_way > b.began + b.bound || is_revoked(b))
    return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.account.state(rank) == member_state::unknown && b.account.why(rank).where == phase::delivery)
      report(found, "an abort is acknowledged", b, fmt::format("rank {} did not answer it", rank));
  }
}

/// Without faults, hooks that heed their stop token end soon after the last caller has stopped waiting.
void nobody_works_for_nothing(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || deaf(b.number)) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const nanoseconds over = b.last_ended() + long_way;
    if (b.members[rank].last_left > over)
      report(found, "nobody works for nothing", b,
             fmt::format("rank {} for {} us", rank,
                         (b.members[rank].last_left - b.last_ended()).count() / 1000));
  }
}

/// No member is given more time than the whole broadcast may take.
void nobody_is_asked_for_longer(const broadcast_record& b, violations& found) {
  if (b.bound == nanoseconds::max()) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].most_left > b.bound + b.bound / 50)
      report(found, "nothing is asked for longer than its bounds", b,
             fmt::format("rank {} had {} us of {} us", rank, b.members[rank].most_left.count() / 1000,
                         b.bound.count() / 1000));
  }
}

/// Without faults, a member that asked for more time has it.
void an_extension_is_heard(const broadcast_record& b, const cluster& c, violations& found) {
  const bool asks = prepares(b.group->service) && b.request.extend_us != 0 && b.options.deadline.unlimited();
  if (!asks || !c.faults().empty() || b.cancelled || b.held) return;
  const std::uint32_t longest = b.request.work_us + b.request.prepare_us + 20'000;
  if (longest > b.request.extend_us / 4) return;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    if (extends(rank) && b.members[rank].begun != 0 && why.what == errc::deadline_exceeded)
      report(found, "an extension is heard", b, fmt::format("rank {} had no time", rank));
  }
}

}  // namespace

void check_broadcast_times(const broadcast_record& b, const cluster& c, violations& found) {
  ends_by_its_bound(b, c, found);
  the_late_speak_for_themselves(b, c, found);
  a_stop_is_heard(b, c, found);
  an_abort_is_acknowledged(b, c, found);
  nobody_works_for_nothing(b, c, found);
  nobody_is_asked_for_longer(b, found);
  an_extension_is_heard(b, c, found);
}

}  // namespace scoll::sim
