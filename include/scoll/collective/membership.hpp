#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/zoned.hpp"

namespace scoll {

/// A node, and the entities on it, that a group addresses. Without entities the node as a whole is addressed.
struct target {
  node_id node = 0;
  std::vector<entity> entities;
  /// The zone of the node, such as its rack, room or site; 0: unknown. A zoned tree enters each zone once.
  std::uint16_t zone = 0;
  /// The host of the node within its zone; 0: unknown.
  std::uint16_t host = 0;
};

/// The maximum number of members in a group. The encoded membership of a group that is created has 16 MiB at
/// most, and has to fit in a message with `membership_form::inline_only`.
inline constexpr std::uint32_t max_members = 1U << 20;

/// An ordered, checked list of targets and its digest. It is immutable and shared. The rank of a node is its
/// position.
class membership {
 public:
  /// Makes a membership. Errors: `invalid_argument` (no target, or node 0), `duplicate_target` (naming the
  /// node), `too_large` (naming the limit).
  static result<std::shared_ptr<const membership>> make(std::vector<target> targets);

  /// The membership of an empty group.
  static const std::shared_ptr<const membership>& none();

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(targets_.size()); }
  node_id node(std::uint32_t rank) const noexcept { return targets_[rank].node; }
  std::span<const entity> entities(std::uint32_t rank) const noexcept { return targets_[rank].entities; }
  const std::vector<target>& targets() const noexcept { return targets_; }
  member_place place(std::uint32_t rank) const noexcept { return {targets_[rank].zone, targets_[rank].host}; }
  /// True if the zone or the host of any member is known.
  bool has_places() const noexcept { return has_places_; }
  const membership_digest& digest() const noexcept { return digest_; }

  /// The rank of a node, or `std::nullopt` if it is not a member. O(log n).
  std::optional<std::uint32_t> rank_of(node_id node) const noexcept;

 private:
  membership() = default;

  std::vector<target> targets_;
  std::vector<std::pair<node_id, std::uint32_t>> by_node_;
  membership_digest digest_{};
  bool has_places_ = false;
};

using membership_ptr = std::shared_ptr<const membership>;

/// Unites two memberships for `node::create_group`: the members of `a` in their order, then those of `b` that
/// `a` does not have, in theirs. A node in both has the entities of `a`, then those of `b` that `a` does not
/// have there, and the place that `a` gives it, or else that of `b`.
std::vector<target> unite(const membership& a, const membership& b);

/// Sorts targets by zone and host; those of one host keep their order. The ranks of a zone then follow each
/// other, so that accounts of a zoned tree's broadcasts are short, and so is the membership in a message.
std::vector<target> by_zone(std::vector<target> targets);

}  // namespace scoll
