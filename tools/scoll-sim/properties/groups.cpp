#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// What must hold for groups: who holds which, and for how long.
namespace scoll::sim {
namespace {

const detail::engine& engine_in(const life& l) {
  return detail::node_access::engine(*l.member);
}

bool is_adopted(const detail::group_state& held) {
  return held.id.creator == 0;
}

const group_record* record_of(const detail::group_state& held, const cluster& c) {
  const auto found = std::find_if(c.groups().begin(), c.groups().end(), [&](const auto& entry) {
    return entry.second.id && *entry.second.id == held.id;
  });
  return found == c.groups().end() ? nullptr : &found->second;
}

/// True for a group that does not end with its creator, who has died before its creation was over. The members
/// cannot know that, so they hold it until one of them destroys it.
bool is_orphan(const detail::group_state& held, const cluster& c) {
  if (held.ends_with != lifetime::members || record_of(held, c) != nullptr) return false;
  const life* const creator = c.alive(static_cast<std::uint32_t>(held.id.creator - 1));
  return creator == nullptr || creator->incarnation != held.id.incarnation;
}

/// A node holds no group except those that were created and have not been destroyed, and those that it has
/// adopted itself.
void holds_no_other_group(const life& l, const cluster& c, violations& found) {
  engine_in(l).each_group([&](const detail::group_state& held) {
    if (is_adopted(held)) {
      const auto known = c.groups().find(held.id.counter);
      const bool named = known != c.groups().end() && known->second.mapped;
      if (named && known->second.mapped->members.contains(l.host)) return;
      if (known == c.groups().end() || !known->second.adopted ||
          !known->second.adopted->holders.contains(l.host))
        report(found, "holds no other group", l.host,
               fmt::format("it never adopted group {}", held.id.counter));
      return;
    }
    if (is_orphan(held, c)) return;
    const group_record* const known = record_of(held, c);
    if (known == nullptr)
      return report(found, "holds no other group", l.host,
                    fmt::format("group {} of node {} was never made", held.id.counter, held.id.creator));
    if (known->destroyed)
      report(found, "holds no other group", l.host, fmt::format("group {} is destroyed", known->number));
  });
}

/// Groups end with the life that created them, unless they belong to their members: once every node knows which
/// lives are current, nodes hold no other groups of earlier ones.
void groups_end_with_their_creators(const life& l, const cluster& c, violations& found) {
  if (!c.deaths_are_known()) return;
  engine_in(l).each_group([&](const detail::group_state& held) {
    if (is_adopted(held)) return;
    if (held.ends_with == lifetime::members) return;
    const life* const creator = c.alive(static_cast<std::uint32_t>(held.id.creator - 1));
    if (creator == nullptr || creator->incarnation != held.id.incarnation)
      report(found, "groups end with their creators", l.host,
             fmt::format("group {} of life {} of node {}", held.id.counter, held.id.incarnation,
                         held.id.creator));
  });
}

/// A group within another one is held where the other one is, and nowhere else, and is revoked where that is.
void groups_end_with_those_around_them(const life& l, const cluster& c, violations& found) {
  for (const auto& [number, g] : c.groups()) {
    const auto held = g.id && g.outer != nullptr ? engine_in(l).find_group(*g.id) : nullptr;
    if (held == nullptr) continue;
    const auto outer = engine_in(l).find_group(*g.outer->id);
    if (outer == nullptr || (outer->revoked != nullptr && held->revoked == nullptr))
      report(found, "groups end with those around them", l.host,
             fmt::format("group {} within group {}", number, g.outer->number));
  }
}

/// A group that somebody destroyed is held by no node two leases later, whatever `destroy` returned, as long
/// as the life that asked for it is there to see to it.
void an_ended_group_leaves_nothing(const life& l, cluster& c, violations& found) {
  engine_in(l).each_group([&](const detail::group_state& held) {
    const group_record* const known = record_of(held, c);
    if (known == nullptr || !known->ending || known->asked + 2 * sim_lease > c.world().now()) return;
    const bool seen_to = std::any_of(known->enders.begin(), known->enders.end(),
                                     [](const life* ender) { return !ender->crashed && !ender->ended; });
    if (seen_to)
      report(found, "an ended group leaves nothing", l.host, fmt::format("group {}", known->number));
  });
}

/// Without faults a group can be created, unless a table was full or its time too short.
void no_creation_fails_by_itself(const group_record& g, const cluster& c, violations& found) {
  if (!c.faults().empty() || !g.failure || g.failure == errc::busy || g.failure == errc::deadline_exceeded ||
      g.outer != nullptr || (g.failure == errc::revoked && !g.revokes.empty()))
    return;
  found.push_back(
      {"no creation fails by itself", fmt::format("group {}: {}", g.number, describe(g.failure))});
}

}  // namespace

void check_groups_settled(cluster& c, violations& found) {
  for (const std::string& what : c.lost_groups()) found.push_back({"a group in use is kept", what});
  for (const auto& [number, g] : c.groups()) no_creation_fails_by_itself(g, c, found);
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    const life* const l = c.alive(host);
    if (l == nullptr) continue;
    holds_no_other_group(*l, c, found);
    groups_end_with_their_creators(*l, c, found);
    groups_end_with_those_around_them(*l, c, found);
    an_ended_group_leaves_nothing(*l, c, found);
  }
}

void check_farewell(cluster& c, violations& found) {
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    const life* const l = c.alive(host);
    if (l == nullptr) continue;
    engine_in(*l).each_group([&](const detail::group_state& held) {
      if (!is_adopted(held) && !is_orphan(held, c))
        report(found, "the last group leaves nothing", host, fmt::format("group {}", held.id.counter));
    });
  }
}

}  // namespace scoll::sim
