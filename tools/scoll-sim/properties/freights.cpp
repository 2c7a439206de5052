#include <algorithm>

#include "scoll/collective/bulks.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/cluster/job.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// What must hold for the bulk data of broadcasts.
namespace scoll::sim {
namespace {

/// Without faults, a member that does not return from a chunk may miss its own time, and nobody else does.
void check_patience(const broadcast_record& b, const freights::freight& f, violations& found) {
  if (f.about.standing.empty() || !f.about.altering.empty() || b.cancelled || !b.options.deadline.unlimited())
    return;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    const bool late = why.where == phase::bulk && why.what == errc::deadline_exceeded;
    if (late && b.account.state(rank) == member_state::failed && !f.about.standing.contains(rank))
      report(found, "who stands still keeps nobody waiting", b, fmt::format("rank {} was too late", rank));
  }
}

/// Without faults, nobody goes up if no member refuses anything, and places come back soon after the end.
void check_calm(const broadcast_record& b, const freights::freight& f, violations& found) {
  // With a deadline, a source may give up half of what is left of it before the broadcast comes to it.
  if (b.outcome_status && b.options.deadline.unlimited() && f.about.altering.empty() &&
      f.about.standing.empty() && f.wrong.risen != 0)
    report(found, "nobody goes up without a loss", b, fmt::format("{} orders did", f.wrong.risen));
  // A member that was not reached, or did not know the group as the root does, cannot tell its sources.
  const auto is_lost = [&](std::uint32_t rank) {
    const member_state s = b.account.state(rank);
    const cause& why = b.account.why(rank);
    const bool refused = why.where == phase::admission && why.what != errc::version_mismatch;
    return s == member_state::not_reached || s == member_state::unknown || refused ||
           why.where == phase::none;
  };
  const bool all_know =
      f.about.standing.empty() &&
      std::ranges::none_of(b.addressed,
                           [&](std::uint32_t rank) {
                             return b.account.state(rank) != member_state::merged && is_lost(rank);
                           }) &&
      !b.cancelled && !deaf(b.number);
  if (all_know && f.came_back > b.ended + long_way)
    report(found, "places come back in time", b,
           fmt::format("after {} us", (f.came_back - b.ended).count() / 1000));
}

}  // namespace

void check_freights(cluster& c, violations& found) {
  c.carried().look();
  if (c.carried().strangers().served != 0)
    found.push_back(
        {"strangers open nothing", fmt::format("{} got bulk data", c.carried().strangers().served)});
  for (const auto& [number, f] : c.carried().all()) {
    const auto say = [&, n = number](const char* property, std::uint32_t times, const char* what) {
      if (times != 0) found.push_back({property, fmt::format("broadcast {}: {} {}", n, times, what)});
    };
    say("bulk data arrives as it was sent", f.wrong.altered_chunks, "chunks did not");
    say("bulk data arrives as it was sent", f.wrong.early_executions, "members executed without all of it");
    say("who gets no bulk data is told", f.wrong.untold, "members were not");
    say("who gets no bulk data is told", f.wrong.mistold, "members executed all the same");
    say("a place that came back is left alone", f.wrong.touched, "were not");
    const auto b = c.broadcasts().find(number);
    if (b != c.broadcasts().end() && b->second.done && c.faults().empty()) {
      check_calm(b->second, f, found);
      check_patience(b->second, f, found);
    }
  }
}

void check_freights_settled(const cluster& c, violations& found) {
  for (const life& l : c.all_lives()) {
    if (l.crashed || l.member == nullptr) continue;
    const std::size_t places = c.carried().places_of(l.number);
    const detail::engine::bulks& bulks = detail::node_access::engine(*l.member).bulk_data();
    if (places != 0) found.push_back({"places come back", fmt::format("host {} misses {}", l.host, places)});
    if (bulks.running() != 0 || bulks.reading() != 0) {
      found.push_back({"places come back", fmt::format("host {} has {} objects and {} readers", l.host,
                                                       bulks.running(), bulks.reading())});
    }
  }
}

}  // namespace scoll::sim
