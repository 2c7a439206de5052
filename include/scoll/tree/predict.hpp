#pragma once

/// What a tree should cost, for the plan that is printed (C17).

#include <algorithm>
#include <optional>
#include <vector>

#include "tree.hpp"

namespace scoll {

/// In the unit of the link parameters, from the root's start.
struct tree_prediction {
  std::uint64_t reached = 0;  // the last member has the message
  std::uint64_t merged = 0;   // the root has merged every reply
  std::uint32_t levels = 0;
  std::uint32_t root_fan_out = 0;

  friend bool operator==(const tree_prediction&, const tree_prediction&) = default;
};

/// LogP with serial merging: a member that has the message at t has its i-th child reached at t + i * gap +
/// latency (i from 0). A reply takes `latency` to the parent, which merges replies one by one in order of
/// arrival, `merge` each, after its last send, and then answers. Replies may have a latency of their own:
/// they are shorter, and what a parent does to receive one may be counted as `merge`. Time in hooks is not
/// counted. O(n log fan-out), allocates O(n).
template <spanning_tree T>
tree_prediction predict(const T& tree, std::uint32_t n, std::uint64_t latency, std::uint64_t gap,
                        std::uint64_t merge, std::optional<std::uint64_t> reply_latency = {}) {
  struct visit {
    std::uint32_t rank = 0;
    std::size_t first_child = 0;  // index in `visits`; the next member's tells where they end
    std::uint64_t time = 0;       // reached, and on the way back: answered
  };
  std::vector<visit> visits{visit{}};
  tree_prediction result{.levels = tree.subtree_levels(n, 0), .root_fan_out = tree.fan_out(n, 0)};
  for (std::size_t at = 0; at < visits.size(); ++at) {
    visits[at].first_child = visits.size();
    std::uint64_t arrival = visits[at].time + latency;
    for (std::uint32_t child : children(tree, n, visits[at].rank)) {
      visits.push_back({.rank = child, .first_child = 0, .time = arrival});
      result.reached = std::max(result.reached, arrival);
      arrival += gap;
    }
  }

  std::vector<std::uint64_t> replies;
  std::size_t end = visits.size();
  for (std::size_t at = visits.size(); at-- > 0;) {
    visit& member = visits[at];
    replies.clear();
    for (std::size_t i = member.first_child; i < end; ++i)
      replies.push_back(visits[i].time + reply_latency.value_or(latency));
    end = member.first_child;
    std::sort(replies.begin(), replies.end());
    member.time += replies.size() * gap;
    for (std::uint64_t reply : replies) member.time = std::max(member.time, reply) + merge;
  }
  result.merged = visits[0].time;
  return result;
}

}  // namespace scoll
