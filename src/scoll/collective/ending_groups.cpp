#include "scoll/collective/ending_groups.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/assert.hpp"

namespace scoll::detail {
namespace {

bool by_node(const untold_member& a, const untold_member& b) noexcept {
  return a.node < b.node;
}

}  // namespace

const untold_member* ending_groups::find(const ended_group& group, node_id node) noexcept {
  const auto at = std::lower_bound(group.untold.begin(), group.untold.end(), untold_member{node, 0}, by_node);
  return at != group.untold.end() && at->node == node ? &*at : nullptr;
}

std::size_t ending_groups::waiting() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(husks_, [](const auto& h) { return h.second.alive != 0; }));
}

bool ending_groups::reserve() noexcept {
  if (husks_.size() + reserved_ >= most_) {
    const auto for_nobody = std::ranges::find_if(husks_, [](const auto& h) { return h.second.alive == 0; });
    if (for_nobody == husks_.end()) return false;
    take_back(for_nobody->first);
  }
  ++reserved_;
  return true;
}

void ending_groups::keep(ended_group group, time_point now) {
  SCOLL_ASSERT(reserved_ != 0 && !group.untold.empty(), "a place is reserved for a group that has to wait");
  take_back(group.id);
  --reserved_;
  std::sort(group.untold.begin(), group.untold.end(), by_node);
  husk kept;
  for (const untold_member& m : group.untold) {
    const auto [at, added] = listeners_.try_emplace(m.node);
    if (added) at->second.due = now + first_pause;
    ++at->second.groups;
    if (!at->second.dead) ++kept.alive;
  }
  kept.group = std::move(group);
  husks_.emplace(kept.group.id, std::move(kept));
}

std::vector<node_id> ending_groups::untold(const group_id& id) const {
  std::vector<node_id> nodes;
  const auto found = husks_.find(id);
  if (found == husks_.end()) return nodes;
  for (const untold_member& m : found->second.group.untold) {
    if (!is_dead(m.node)) nodes.push_back(m.node);
  }
  return nodes;
}

std::optional<std::uint64_t> ending_groups::take_back(const group_id& id) {
  const auto found = husks_.find(id);
  if (found == husks_.end()) return std::nullopt;
  const ended_group& group = found->second.group;
  const std::uint64_t counter = group.next_counter;
  for (const untold_member& m : group.untold) stop_telling(m.node);
  husks_.erase(found);
  return counter;
}

void ending_groups::clear() noexcept {
  husks_.clear();
  listeners_.clear();
}

std::optional<ending_groups::turn> ending_groups::next(time_point now) {
  auto first = listeners_.end();
  for (auto at = listeners_.begin(); at != listeners_.end(); ++at) {
    const listener& l = at->second;
    if (l.asked || l.dead || l.due > now) continue;
    if (first == listeners_.end() || l.due < first->second.due) first = at;
  }
  if (first == listeners_.end()) return std::nullopt;
  const node_id node = first->first;
  const auto of_node = [&](const auto& h) { return find(h.second.group, node) != nullptr; };
  const auto chosen = std::ranges::find_if(husks_, of_node);
  SCOLL_ASSERT(chosen != husks_.end(), "a listener is there for a group");
  first->second.asked = true;
  ended_group& group = chosen->second.group;
  return turn{group.id, group.service, group.self_rank, group.next_counter++, node};
}

time_point ending_groups::due() const noexcept {
  time_point first = never;
  for (const auto& [node, l] : listeners_) {
    if (!l.asked && !l.dead) first = std::min(first, l.due);
  }
  return first;
}

void ending_groups::told(const group_id& id, node_id node, time_point now) {
  settle(id, node);
  const auto at = listeners_.find(node);
  if (at == listeners_.end()) return;
  at->second.asked = false;
  at->second.pause = first_pause;
  at->second.due = now;
}

void ending_groups::missed(node_id node, time_point now) {
  const auto at = listeners_.find(node);
  if (at == listeners_.end()) return;
  listener& l = at->second;
  l.asked = false;
  l.pause = std::min(2 * l.pause, longest_pause);
  l.due = now + l.pause;
}

void ending_groups::stop_telling(node_id node) {
  const auto at = listeners_.find(node);
  if (--at->second.groups == 0) listeners_.erase(at);
}

void ending_groups::settle(const group_id& id, node_id node) {
  const auto found = husks_.find(id);
  if (found == husks_.end()) return;
  husk& kept = found->second;
  const untold_member* const m = find(kept.group, node);
  if (m == nullptr) return;
  if (!is_dead(node)) --kept.alive;
  stop_telling(node);
  auto& untold = kept.group.untold;
  untold.erase(untold.begin() + (m - untold.data()));
  if (untold.empty()) husks_.erase(found);
}

/// Counts the member in or out in all its groups.
void ending_groups::change_alive(node_id node, bool alive) noexcept {
  const auto at = listeners_.find(node);
  if (at == listeners_.end() || at->second.dead != alive) return;
  at->second.dead = !alive;
  for (auto& [id, kept] : husks_) {
    if (find(kept.group, node) != nullptr) alive ? ++kept.alive : --kept.alive;
  }
}

void ending_groups::died(node_id node) {
  change_alive(node, false);
}

void ending_groups::heard_of(node_id node, std::uint64_t life, time_point now) {
  change_alive(node, true);
  std::vector<group_id> of_earlier_lives;
  for (const auto& [id, kept] : husks_) {
    const untold_member* const m = find(kept.group, node);
    if (m != nullptr && m->life != 0 && m->life < life) of_earlier_lives.push_back(id);
  }
  for (const group_id& id : of_earlier_lives) settle(id, node);
  const auto at = listeners_.find(node);
  if (at == listeners_.end()) return;
  at->second.pause = first_pause;
  at->second.due = now;
}

}  // namespace scoll::detail
