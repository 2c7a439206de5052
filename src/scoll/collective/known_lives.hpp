#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scoll/ids.hpp"

namespace scoll::detail {

/// The lives of other nodes, as far as they are known: the latest life of each, and the dead nodes. News may
/// come in any order; older news changes nothing. It comes from the user, whose detector of failures tells of
/// lives and deaths, and from connections, which tell of lives alone.
class known_lives {
 public:
  /// Returns false if this is not news, because it is known or a later life is.
  bool die(node_id node, std::uint64_t incarnation) {
    life& known = of(node);
    if (incarnation < known.incarnation || (known.dead && incarnation == known.incarnation)) return false;
    if (!known.dead) dead_.insert(place(dead_, node), node);
    known.incarnation = known.reported = incarnation;
    return known.dead = true;
  }
  bool live(node_id node, std::uint64_t incarnation) {
    life& known = of(node);
    if (incarnation < known.incarnation || (!known.dead && incarnation == known.incarnation)) return false;
    if (known.dead) dead_.erase(place(dead_, node));
    known.incarnation = incarnation;
    known.dead = false;
    return true;
  }

  /// Notes that the user has told of that life.
  void report(node_id node, std::uint64_t incarnation) {
    life& known = of(node);
    known.reported = std::max(known.reported, incarnation);
  }

  /// True if that life of the node is known to be over.
  bool is_over(node_id node, std::uint64_t incarnation) const noexcept {
    const life* const known = find(node);
    return known != nullptr &&
           (incarnation < known->incarnation || (known->dead && incarnation == known->incarnation));
  }
  /// True if the user has told of that life or a later one. Then the user will tell of its end as well; the
  /// end of a life that only a connection has met may never be told.
  bool is_reported(node_id node, std::uint64_t incarnation) const noexcept {
    const life* const known = find(node);
    return known != nullptr && incarnation <= known->reported;
  }
  /// The latest life of the node that is known, which may be over; 0 if none is.
  std::uint64_t latest(node_id node) const noexcept {
    const life* const known = find(node);
    return known != nullptr ? known->incarnation : 0;
  }
  bool is_dead(node_id node) const noexcept { return std::binary_search(dead_.begin(), dead_.end(), node); }
  /// The dead nodes in the order of their ids; nearly always empty.
  const std::vector<node_id>& dead() const noexcept { return dead_; }

 private:
  struct life {
    node_id node = 0;
    std::uint64_t incarnation = 0;
    std::uint64_t reported = 0;
    bool dead = false;
  };

  static std::vector<node_id>::iterator place(std::vector<node_id>& in, node_id node) noexcept {
    return std::lower_bound(in.begin(), in.end(), node);
  }
  static bool before(const life& known, node_id node) noexcept { return known.node < node; }
  const life* find(node_id node) const noexcept {
    const auto at = std::lower_bound(lives_.begin(), lives_.end(), node, before);
    return at != lives_.end() && at->node == node ? &*at : nullptr;
  }
  life& of(node_id node) {
    const auto at = std::lower_bound(lives_.begin(), lives_.end(), node, before);
    if (at != lives_.end() && at->node == node) return *at;
    return *lives_.insert(at, {node, 0, 0, false});
  }

  std::vector<life> lives_;  // sorted by node
  std::vector<node_id> dead_;
};

}  // namespace scoll::detail
