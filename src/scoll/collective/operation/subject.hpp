#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/group_state.hpp"
#include "scoll/collective/life_tag.hpp"
#include "scoll/collective/subset.hpp"
#include "scoll/detail/service_entry.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::detail {

/// The subject of an operation: request head, group, service and this node's place in the tree. It is set
/// when the operation begins; afterwards only the processing bound in `head` changes.
struct operation_subject {
  /// A relay cannot decode the request, because it serves another version. It forwards the request and passes
  /// replies on.
  enum class role : std::uint8_t { member, relay, root };

  collective_head head;
  std::shared_ptr<group_state> group;
  subset_ptr subset;  ///< the members that the operation is for; null: all
  std::shared_ptr<service_entry> service;
  const service_table* table = nullptr;
  any_tree tree;
  std::uint32_t members = 0;   ///< the number of members that the operation is for
  std::uint32_t root = 0;      ///< the index of the root among them
  std::uint32_t relative = 0;  ///< the relative rank of this node
  role as = role::member;

  /// Lets go of what it shares with others. The next operation sets everything anew.
  void clear() noexcept {
    group.reset();
    if (subset != nullptr) subset.reset();
    service.reset();
    if (tree.has_table()) tree = {};
  }

  bool is_root() const noexcept { return as == role::root; }
  bool is_relay() const noexcept { return as == role::relay; }
  /// The number of levels in this node's subtree; a leaf has 1.
  std::int64_t levels() const { return tree.subtree_levels(members, relative); }

  /// The size of what lies in front of the request in the payload.
  std::size_t bytes_before_request() const noexcept {
    return head.bytes_before_request() + (head.names_lives() ? life_tags::bytes_of(members) : 0);
  }

  /// The rank in the group of a relative rank.
  std::uint32_t rank_at(std::uint32_t relative_rank) const noexcept {
    const std::uint32_t index = to_rank(relative_rank, root, members);
    return subset != nullptr ? subset->rank_at(index) : index;
  }

  /// The relative rank of a rank in the group; nothing if the operation is not for that member.
  std::optional<std::uint32_t> relative_of(std::uint32_t rank) const noexcept {
    const auto index = subset != nullptr ? subset->index_of(rank) : std::optional(rank);
    if (!index) return std::nullopt;
    return to_relative(*index, root, members);
  }

  /// Calls `fn(first, last)` for the runs of ranks that a run of relative ranks stands for. Relative ranks
  /// begin at the root, so a run may wrap round the end of the membership.
  template <class Fn>
  void visit_ranks(rank_range relative_ranks, Fn fn) const {
    const ranks_in_order found = in_order(relative_ranks);
    const auto visit = [&](std::uint32_t from, std::uint32_t to) {
      if (from == to) return;
      if (found.of == nullptr) return fn(from, to);
      found.of->visit(from, to, fn);
    };
    visit(found.first, found.before_end);
    visit(0, found.wrapped);
  }

 private:
  /// A run of relative ranks as indices [first, before_end) and [0, wrapped) among those that it is for.
  struct ranks_in_order {
    std::uint32_t first, before_end, wrapped;
    const scoll::detail::subset* of;  ///< null: among all members
  };
  ranks_in_order in_order(rank_range relative_ranks) const noexcept;
};

}  // namespace scoll::detail
