#include "scoll/tree/zoned.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "scoll/coro/mutants.hpp"
#include "scoll/tree/knomial.hpp"

namespace scoll {

zoned_table::zoned_table(std::span<const member_place> places, std::uint32_t across, std::uint32_t within)
    : nodes_(places.size()), preorder_(places.size()) {
  SCOLL_ASSERT(!places.empty() && places.size() <= zoned::max_members, "a zoned tree has 1 to 2^20 members");
  SCOLL_ASSERT(across >= 2 && within >= 2, "the radices of a zoned tree are at least 2");
  std::vector<std::uint32_t>& sorted = preorder_;  // until the order is known
  std::iota(sorted.begin(), sorted.end(), 0U);
  std::sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::tuple(places[a].zone, places[a].host, a) < std::tuple(places[b].zone, places[b].host, b);
  });
  std::vector<std::uint32_t> zone_leaders, host_leaders, host;
  for (std::size_t i = 0; i < sorted.size();) {
    const std::uint16_t zone = places[sorted[i]].zone;
    host_leaders.clear();
    while (i < sorted.size() && places[sorted[i]].zone == zone) {
      const std::uint16_t of = places[sorted[i]].host;
      host.assign(1, sorted[i++]);
      while (of != 0 && i < sorted.size() && places[sorted[i]] == member_place{zone, of})
        host.push_back(sorted[i++]);
      join(host, within, 0);
      host_leaders.push_back(host.front());
    }
    std::sort(host_leaders.begin(), host_leaders.end());
    join(host_leaders, within, 1);
    zone_leaders.push_back(host_leaders.front());
    if (host_leaders.front() != 0 && host_leaders.size() > 1 &&
        SCOLL_MUTANT(zone_two_leaders, "a zone is entered twice: two of its members lead it"))
      zone_leaders.push_back(host_leaders[1]);
  }
  std::sort(zone_leaders.begin(), zone_leaders.end());
  join(zone_leaders, across, 2);
  count();
  order_members();
}

/// Makes a k-nomial tree of members in ascending order; the first of them gets no parent.
void zoned_table::join(const std::vector<std::uint32_t>& ranks, std::uint32_t radix,
                       std::uint32_t distance) noexcept {
  const auto n = static_cast<std::uint32_t>(ranks.size());
  for (std::uint32_t i = 1; i < n; ++i) {
    node& child = nodes_[ranks[i]];
    child.parent = ranks[knomial{radix}.parent(n, i)];
    child.distance = distance & 3U;
  }
}

/// Counts what is below each member. A parent always has a lower rank than its child.
void zoned_table::count() {
  for (std::uint32_t r = members(); r-- > 1;) {
    const node& child = nodes_[r];
    node& parent = nodes_[child.parent];
    parent.nodes += child.nodes;
    if (child.levels >= parent.levels) parent.levels = (child.levels + 1) & 0x3fffffffU;
    ++parent.fan_out;
  }
}

/// Numbers the members in preorder, with children in send order.
void zoned_table::order_members() {
  std::vector<std::uint32_t> by_parent(members() - 1);
  std::iota(by_parent.begin(), by_parent.end(), 1U);
  const auto key = [this](std::uint32_t r) {
    const node& m = nodes_[r];
    return std::tuple(m.parent, ~std::uint32_t{m.distance}, ~std::uint32_t{m.levels}, ~m.nodes, r);
  };
  std::sort(by_parent.begin(), by_parent.end(),
            [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  preorder_[0] = 0;
  // The parents come in ascending order, so each has its place when its children get theirs.
  std::uint32_t next = 1;
  for (std::size_t i = 0; i < by_parent.size(); ++i) {
    node& child = nodes_[by_parent[i]];
    const bool first = i == 0 || nodes_[by_parent[i - 1]].parent != child.parent;
    if (first) next = nodes_[child.parent].place + 1;
    child.place = next;
    preorder_[next] = by_parent[i];
    next += child.nodes;
  }
}

std::uint32_t zoned_table::child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const noexcept {
  std::uint32_t place = at(n, r).place + 1;
  for (; i != 0; --i) place += nodes_[preorder_[place]].nodes;
  return preorder_[place];
}

}  // namespace scoll
