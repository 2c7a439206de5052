#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// The properties of requests that wait until their group is known, and of creations that ride along with
// requests.
namespace scoll::sim {
namespace {

detail::engine& engine_of(const life& l) {
  return detail::node_access::engine(*l.member);
}

/// Once all members of a delayed group have answered a life, it sends nothing of the creation again, unless a
/// member began a new life, or may have dropped the group because it held its creator dead.
void nothing_rides_twice(const cluster& c, violations& found) {
  for (const told_group& told : c.told_groups()) {
    const group_record& g = *told.group;
    if (told.root->crashed || told.lives != c.all_lives().size() || g.is_ending()) continue;
    if (g.creator == nullptr || g.outer != nullptr || c.was_accused(g.creator->host)) continue;
    const auto held = engine_of(*told.root).find_group(*g.id);
    if (held != nullptr && held->creations_sent != told.creations_sent)
      report(found, "nothing rides twice", told.root->host,
             fmt::format("{} creations of group {}, {} when all members knew it", held->creations_sent,
                         g.number, told.creations_sent));
  }
}

/// A broadcast with time left reaches no member that does not hold the delayed group in the end.
void a_delayed_group_is_made_known(const broadcast_record& b, const cluster& c, violations& found) {
  const group_record& g = *b.group;
  const bool ended = b.ended_by_crash || b.was_stopped() || b.failed_fast() || g.is_ending();
  if (!g.delayed || b.stray || !b.done || ended) return;
  if (g.creator == nullptr || g.outer != nullptr || g.creator->crashed || c.was_accused(g.creator->host))
    return;
  if (b.ended > b.began + b.bound / 2) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const cause& why = b.account.why(rank);
    if (why.what == errc::unknown_group && why.where == phase::admission)
      report(found, "a delayed group is made known", b.root->host,
             fmt::format("broadcast {}: rank {} does not hold group {}: {}", b.number, rank, g.number,
                         describe(why.what)));
  }
}

}  // namespace

void check_admissions(cluster& c, violations& found) {
  constexpr nanoseconds leeway = std::chrono::seconds(1);
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l == nullptr) continue;
    const detail::engine& engine = engine_of(*l);
    const std::size_t waiting = engine.admissions_waiting();
    c.seen().saw(mark::admission_waited, waiting != 0);
    c.seen().saw(mark::asked_again, engine.statistics().asked_again != 0);
    c.seen().saw(mark::loss_in_part, engine.statistics().reply_parts != 0);
    if (waiting > engine.options().max_pending_admissions)
      report(found, "admissions are bounded and end", host, fmt::format("{} requests wait", waiting));
    const bool stalled = c.world().now() <= c.stalled_until() + leeway;
    if (waiting != 0 && !stalled && engine.admissions_due() + leeway < l->home.now())
      report(found, "admissions are bounded and end", host, "a request waits beyond its time");
  }
}

void check_admissions_settled(const cluster& c, violations& found) {
  if (c.repeated_namings() != 0)
    found.push_back({"requests for one group share one search",
                     fmt::format("{} calls of a hook beside another one", c.repeated_namings())});
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    const life* const l = c.alive(host);
    if (l == nullptr) continue;
    if (const std::size_t left = engine_of(*l).admissions_waiting(); left != 0)
      report(found, "admissions are bounded and end", host, fmt::format("{} requests wait at rest", left));
  }
  nothing_rides_twice(c, found);
  for (const auto& [number, b] : c.broadcasts()) a_delayed_group_is_made_known(b, c, found);
}

}  // namespace scoll::sim
