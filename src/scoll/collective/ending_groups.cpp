#include "scoll/collective/ending_groups.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/assert.hpp"

namespace scoll::detail {

bool ending_groups::has(const ended_group& group, node_id node) noexcept {
  return std::binary_search(group.untold.begin(), group.untold.end(), node);
}

std::size_t ending_groups::waiting() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(husks_, [](const auto& h) { return h.second.alive != 0; }));
}

bool ending_groups::reserve() noexcept {
  if (husks_.size() + reserved_ >= most_) {
    const auto for_nobody = std::ranges::find_if(husks_, [](const auto& h) { return h.second.alive == 0; });
    if (for_nobody == husks_.end()) return false;
    give_up(for_nobody->first);
  }
  ++reserved_;
  return true;
}

void ending_groups::keep(ended_group group, time_point now) {
  SCOLL_ASSERT(reserved_ != 0 && !group.untold.empty(), "a place is reserved for a group that has to wait");
  give_up(group.id);
  --reserved_;
  std::sort(group.untold.begin(), group.untold.end());
  husk kept;
  for (const node_id node : group.untold) {
    const auto [at, added] = listeners_.try_emplace(node);
    if (added) {
      at->second.due = now + first_pause;
      turns_.emplace(at->second.turn_at(), node);
    }
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
  for (const node_id node : found->second.group.untold) {
    if (!is_dead(node)) nodes.push_back(node);
  }
  return nodes;
}

void ending_groups::give_up(const group_id& id) {
  const auto found = husks_.find(id);
  if (found == husks_.end()) return;
  for (const node_id node : found->second.group.untold) stop_telling(node);
  husks_.erase(found);
}

void ending_groups::clear() noexcept {
  husks_.clear();
  listeners_.clear();
  turns_.clear();
}

/// Changes a listener and with it the order of the turns. It allocates nothing.
template <class Change>
void ending_groups::change(listener_map::iterator at, const Change& how) noexcept {
  auto place = turns_.extract({at->second.turn_at(), at->first});
  how(at->second);
  place.value().first = at->second.turn_at();
  turns_.insert(std::move(place));
}

std::optional<ending_groups::turn> ending_groups::next(time_point now) {
  if (turns_.empty() || turns_.begin()->first > now) return std::nullopt;
  const node_id node = turns_.begin()->second;
  const auto of_node = [&](const auto& h) { return has(h.second.group, node); };
  const auto chosen = std::ranges::find_if(husks_, of_node);
  SCOLL_ASSERT(chosen != husks_.end(), "a listener is there for a group");
  change(listeners_.find(node), [](listener& l) { l.asked = true; });
  ended_group& group = chosen->second.group;
  return turn{group.id, group.service, group.self_rank, group.next_counter++, group.ends_with, node};
}

time_point ending_groups::due() const noexcept {
  return turns_.empty() ? never : turns_.begin()->first;
}

void ending_groups::told(const group_id& id, node_id node, time_point now) {
  settle(id, node);
  const auto at = listeners_.find(node);
  if (at == listeners_.end()) return;
  change(at, [now](listener& l) {
    l.asked = false;
    l.pause = first_pause;
    l.due = now;
  });
}

void ending_groups::missed(node_id node, time_point now) {
  const auto at = listeners_.find(node);
  if (at == listeners_.end()) return;
  change(at, [now](listener& l) {
    l.asked = false;
    l.pause = std::min(2 * l.pause, longest_pause);
    l.due = now + l.pause;
  });
}

void ending_groups::stop_telling(node_id node) {
  const auto at = listeners_.find(node);
  if (--at->second.groups != 0) return;
  turns_.erase({at->second.turn_at(), node});
  listeners_.erase(at);
}

void ending_groups::settle(const group_id& id, node_id node) {
  const auto found = husks_.find(id);
  if (found == husks_.end()) return;
  husk& kept = found->second;
  if (!has(kept.group, node)) return;
  if (!is_dead(node)) --kept.alive;
  stop_telling(node);
  std::erase(kept.group.untold, node);
  if (kept.group.untold.empty()) husks_.erase(found);
}

/// Counts the member in or out in all its groups.
void ending_groups::change_alive(node_id node, bool alive) noexcept {
  const auto at = listeners_.find(node);
  if (at == listeners_.end() || at->second.dead != alive) return;
  change(at, [alive](listener& l) { l.dead = !alive; });
  for (auto& [id, kept] : husks_) {
    if (has(kept.group, node)) alive ? ++kept.alive : --kept.alive;
  }
}

void ending_groups::died(node_id node) {
  change_alive(node, false);
}

void ending_groups::heard_of(node_id node, time_point now) {
  change_alive(node, true);
  const auto at = listeners_.find(node);
  if (at == listeners_.end()) return;
  change(at, [now](listener& l) {
    l.pause = first_pause;
    l.due = now;
  });
}

}  // namespace scoll::detail
