#include <algorithm>
#include <map>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// The properties of agreements and shrinks, over all lives of the members.
namespace scoll::sim {
namespace {

void report(violations& found, std::string_view property, const agreement_call& c, const std::string& what) {
  found.push_back({std::string(property),
                   fmt::format("{} {} of group {} at host {}, rank {}: {}; {}",
                               c.instance ? "agreement" : "shrink", c.instance.value_or(0), c.group,
                               c.at->host, c.rank, what, c.outcome ? "ok" : describe(c.outcome.error()))});
}

/// The outcome is known to the caller, although it may not be in it.
bool knows(const agreement_call& c) {
  return c.done && !c.ended_by_crash && c.value.has_value();
}

/// A call ends, by its deadline.
void it_ends(const agreement_call& c, const cluster& all, violations& found) {
  if (!c.done && !c.at->crashed) return report(found, "every agreement ends", c, "it has not");
  if (!c.done || c.ended_by_crash || c.at->crashed) return;
  if (c.took > allowance(all, c.at->host, c.deadline, c.began, c.ended))
    report(found, "every agreement ends", c,
           fmt::format("it took {} us of {} us", c.took.count() / 1000, c.deadline.count() / 1000));
}

/// The value merges exactly the members outside `failed`, each once, and a member that failed is told.
void the_value_is_what_it_says(const agreement_call& c, violations& found) {
  if (!c.instance) return;
  if (c.done && c.outcome && !c.value) return report(found, "agreed", c, "ok without a value");
  if (!knows(c)) return;
  rank_set in;
  for (const std::uint32_t rank : c.value->ranks.values) in.append(rank, rank + 1);
  if (in != rank_set::all(c.members) - c.failed || c.value->times.value != in.size())
    report(
        found, "agreed", c,
        fmt::format("{} values of {}, without {}", c.value->times.value, to_string(in), to_string(c.failed)));
  const bool excluded = !c.outcome && c.outcome.error() == errc::excluded;
  if (c.failed.contains(c.rank) != excluded || (!excluded && !c.outcome))
    report(found, "agreed", c, "the status does not agree with the outcome");
}

/// All that is known of one instance is the same.
void all_know_the_same(const cluster& all, violations& found) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, const agreement_call*> first;
  for (const auto& [number, c] : all.agreed().calls()) {
    if (!c.instance || !knows(c)) continue;
    const auto [known, fresh] = first.try_emplace({c.group, *c.instance}, &c);
    const agreement_call& other = *known->second;
    if (!fresh && (other.failed != c.failed || other.value->ranks != c.value->ranks))
      report(found, "agreed", c, fmt::format("host {} has another outcome", other.at->host));
  }
}

/// Without faults nobody is failed, and an agreement that all members call has an outcome.
void no_agreement_fails_by_itself(const agreement_call& c, const cluster& all, violations& found) {
  if (!all.faults().empty() || !c.done || c.held) return;
  if (!c.failed.empty()) report(found, "no agreement fails by itself", c, "members are failed");
  if (c.outcome || all.groups().at(c.group).is_ending()) return;
  const error& why = c.outcome.error();
  const bool bounded =
      why == errc::undecided || why == errc::busy || why == errc::stale || why == errc::deadline_exceeded;
  const auto made = all.groups().find(c.group + agreements::first_shrunk);
  const bool gone = !c.instance && made != all.groups().end() && made->second.ending;
  if (!bounded && !(gone && why == errc::unknown_group))
    report(found, "no agreement fails by itself", c, "it did");
}

/// The group that a shrink gives has its caller, and members of the old group in their old order.
void the_shrunk_are_members(const agreement_call& c, const cluster& all, violations& found) {
  if (!c.made) return;
  const auto& old = all.groups().at(c.group).members;
  auto at = old.begin();
  for (const std::uint32_t host : c.survivors) {
    at = std::find(at, old.end(), host);
    if (at == old.end())
      return report(found, "one shrunk group", c, fmt::format("host {} is out of place", host));
  }
  if (std::find(c.survivors.begin(), c.survivors.end(), c.at->host) == c.survivors.end())
    report(found, "one shrunk group", c, "its caller is not in it");
  if (all.faults().empty() && c.survivors.size() != old.size())
    report(found, "one shrunk group", c, "members are missing");
}

/// A member that hears that it is excluded is not in the group.
void the_excluded_are_out(const agreement_call& c, const cluster& all, violations& found) {
  const auto made = all.groups().find(c.group + agreements::first_shrunk);
  if (c.instance || !c.done || c.ended_by_crash || c.outcome || made == all.groups().end()) return;
  const auto& members = made->second.members;
  if (c.outcome.error() == errc::excluded &&
      std::find(members.begin(), members.end(), c.at->host) != members.end())
    report(found, "one shrunk group", c, "it is a member of the group");
}

}  // namespace

void check_agreements(cluster& c, violations& found) {
  c.find_shrunk_groups();
  for (const std::string& what : c.agreed().disputes()) found.push_back({"one shrunk group", what});
  all_know_the_same(c, found);
  for (const auto& [number, call] : c.agreed().calls()) {
    it_ends(call, c, found);
    the_value_is_what_it_says(call, found);
    no_agreement_fails_by_itself(call, c, found);
    the_shrunk_are_members(call, c, found);
    the_excluded_are_out(call, c, found);
  }
}

}  // namespace scoll::sim
