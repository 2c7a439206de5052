#pragma once

/// Predicts the cost of a tree.

#include <algorithm>
#include <optional>
#include <vector>

#include "scoll/tree/link_map.hpp"
#include "scoll/tree/tree.hpp"

namespace scoll {

/// Predicted times in the unit of the link parameters, counted from the root's start.
struct tree_prediction {
  std::uint64_t reached = 0;  // the last member has the message
  std::uint64_t merged = 0;   // the root has merged every reply
  std::uint32_t levels = 0;
  std::uint32_t root_fan_out = 0;
  /// The work of the busiest host divided by its processors: a lower bound, whatever the order of the work. 0
  /// where processors are not considered.
  std::uint64_t work_bound = 0;

  friend bool operator==(const tree_prediction&, const tree_prediction&) = default;
};

/// Predicts by LogP with serial merging: a member that has the message at t reaches its i-th child at t + i *
/// gap + latency (i from 0). A reply takes `latency` to the parent, which merges replies one by one in order
/// of arrival, `merge` each, after its last send, and then answers. Replies may have a latency of their own:
/// they are shorter, and the parent's cost of receiving one may be counted as `merge`. Time in hooks is not
/// counted. O(n log fan-out), allocates O(n).
template <spanning_tree T>
tree_prediction predict(const T& tree, std::uint32_t n, std::uint64_t latency, std::uint64_t gap,
                        std::uint64_t merge, std::optional<std::uint64_t> reply_latency = {}) {
  struct visit {
    std::uint32_t rank = 0;
    std::size_t first_child = 0;  // an index in `visits`; that of the next member is the end
    std::uint64_t time = 0;       // when it was reached, and on the way back when it answered
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

namespace detail {

/// A tree whose members are numbered level by level, in send order, so that the children of a member have
/// consecutive numbers.
struct tree_levels {
  std::vector<std::uint32_t> rank;         ///< the relative rank of each member
  std::vector<std::uint32_t> parent;       ///< the number of each member's parent
  std::vector<std::uint32_t> first_child;  ///< of each member; the next member's is the end
};

template <spanning_tree T>
tree_levels number_by_level(const T& tree, std::uint32_t n) {
  tree_levels all{{0}, {0}, {}};
  for (std::size_t at = 0; at < all.rank.size(); ++at) {
    all.first_child.push_back(static_cast<std::uint32_t>(all.rank.size()));
    for (std::uint32_t child : children(tree, n, all.rank[at])) {
      all.rank.push_back(child);
      all.parent.push_back(static_cast<std::uint32_t>(at));
    }
  }
  all.first_child.push_back(static_cast<std::uint32_t>(all.rank.size()));
  return all;
}

/// Computes the times and `work_bound`.
void predict_times(const tree_levels& tree, const link_map& links, tree_prediction& result);

}  // namespace detail

/// Predicts in ns where costs differ from link to link, and where members share the processors of their
/// hosts. A member is one thread. When something has arrived for it, it takes a processor; processors are
/// granted in the order of asking. It receives the request, then sends to its children one after the other.
/// It merges the replies that are there, first come, first served, releases the processor until the next one
/// comes, and answers when all are merged. With a processor for every member, equal costs and `wake` 0, the
/// result is that of the other `predict` with latency send + latency + receive, gap max(gap, send), merge,
/// and reply latency send + latency. O(n log n), allocates O(n).
template <spanning_tree T>
tree_prediction predict(const T& tree, std::uint32_t n, const link_map& links) {
  tree_prediction result{.levels = tree.subtree_levels(n, 0), .root_fan_out = tree.fan_out(n, 0)};
  detail::predict_times(detail::number_by_level(tree, n), links, result);
  return result;
}

}  // namespace scoll
