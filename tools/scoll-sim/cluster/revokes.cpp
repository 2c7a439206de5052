#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/services.hpp"

// This file revokes groups.
namespace scoll::sim {

std::unique_ptr<detail::any_group> cluster::held_by(life& l, std::uint64_t group) const {
  const auto found = groups_.find(group);
  if (found == groups_.end() || !found->second.id) return nullptr;
  const group_record& g = found->second;
  return with_service(g.service, serves_old_version(l.host), [&]<class S>() {
    const auto held = l.member->find_group<S>(*g.id);
    return held ? std::make_unique<detail::any_group>(*held) : nullptr;
  });
}

/// A group that is still being created has no id in its record yet. Its creator knows it.
void cluster::find_creation(life& l, group_record& g) {
  if (g.id || g.adopted || g.failure) return;
  std::vector<node_id> nodes;
  nodes.reserve(g.members.size());
  for (const std::uint32_t host : g.members) nodes.push_back(host + 1);
  detail::node_access::engine(*l.member).each_group([&](const detail::group_state& held) {
    const bool mine = held.creating && held.id.creator == g.maker + 1 &&
                      held.members->size() == nodes.size() && held.tree == g.tree;
    for (std::uint32_t rank = 0; mine && !g.id && rank < nodes.size(); ++rank) {
      if (held.members->node(rank) != nodes[rank]) return;
    }
    const bool claimed = std::any_of(groups_.begin(), groups_.end(), [&](const auto& other) {
      return other.second.id && *other.second.id == held.id;
    });
    if (mine && !claimed && !g.id) g.id = held.id;
  });
}

void cluster::on(const events::revoke& e) {
  const auto found = groups_.find(e.group);
  life* const l = living(e.host);
  if (found == groups_.end() || l == nullptr) return;
  group_record& g = found->second;
  l->home.enter([&] {
    const bool unfinished = !g.id;
    find_creation(*l, g);
    if (!is_held(*l, g)) {
      if (unfinished) g.id.reset();
      return;
    }
    seen_.saw(mark::revoked_by_two,
              std::any_of(g.revokes.begin(), g.revokes.end(), [&](const revoke_record& r) {
                return r.by != l && world_.now() - r.at < std::chrono::milliseconds(10);
              }));
    g.revokes.push_back({l, e.reason, world_.now(), false, {}});
    l->work.spawn(revoke(*l, g, g.revokes.size() - 1));
  });
}

task<void> cluster::revoke(life& l, group_record& g, std::size_t which) {
  const auto held = held_by(l, g.number);
  if (held == nullptr) co_return;
  const std::uint32_t reason = g.revokes[which].reason;
  g.revokes[which].at = world_.now();
  for (life* const other : lives_) {
    if (other != nullptr && is_held(*other, g)) g.revokes[which].holders.push_back(other);
  }
  const auto told = co_await held->revoke(reason, "told to");
  g.revokes[which].done = true;
  if (l.crashed || burying_) co_return;
  seen_.saw(mark::revoke_owed, told && told->owed != 0);
  const std::uint64_t emitted = told ? told->emitted : 0;
  world_.record(testing::sim_trace::note, l.host, g.number, emitted);
}

}  // namespace scoll::sim
