#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/coro/worker_pool.hpp"
#include "scoll/detail/nested_options.hpp"
#include "scoll/ids.hpp"

namespace scoll {

namespace detail {
class operation;
}

/// The broadcast that a hook serves, as the hook sees it. It lives as long as the operation on this node:
/// until the last of its hooks has returned.
///
/// It can be passed where a nested operation takes options, as in `co_await pull(node, d, 0, into, context)`.
/// The operation then has this time limit and stop token, and defaults for everything else.
class bcast_context : public detail::converts_to_options<bcast_context> {
 public:
  bcast_context(const bcast_context&) = delete;
  bcast_context& operator=(const bcast_context&) = delete;

  const operation_id& id() const noexcept;
  const membership& members() const noexcept;
  /// The rank of this node.
  std::uint32_t rank() const noexcept;
  std::uint32_t root_rank() const noexcept;
  bool is_root() const noexcept { return rank() == root_rank(); }
  node_id self() const noexcept { return members().node(rank()); }
  node_id root() const noexcept { return members().node(root_rank()); }
  /// The node that asks for the broadcast: the one that is in no group and has had the root broadcast for it
  /// (`remote_group`), or else the root.
  node_id caller() const noexcept;
  /// The name of the asking client in its certificate, as it was shown to the root, which vouches for it;
  /// empty for nodes, and for clients that have shown none (`security.mode`). It is valid as long as this
  /// object.
  std::string_view caller_name() const noexcept;
  /// The entities on this node that the request addresses.
  std::span<const entity> entities() const noexcept { return members().entities(rank()); }

  /// The number of children of this node in the broadcast's tree. Children are numbered in the order in which
  /// the request is sent to them.
  std::uint32_t child_count() const noexcept;
  std::uint32_t child_rank(std::uint32_t child) const noexcept;
  /// The number of nodes in a child's subtree, including the child.
  std::uint32_t child_subtree_nodes(std::uint32_t child) const noexcept;
  std::uint64_t child_subtree_entities(std::uint32_t child) const noexcept;

  /// The point in time by which this node must have answered. It lies in the past once nobody waits for the
  /// answer. Use it as the `deadline` of nested operations; `remaining().left(now)` is the duration.
  time_limit remaining() const noexcept;
  /// Fires when nobody waits for the answer any more: the broadcast was cancelled, its time is over, or the
  /// node is shutting down.
  stop_token stop() const noexcept;
  /// Says that this request takes longer here than its root assumed; call it from `prepare`. The ancestors
  /// are told, and wait accordingly. It does not move a deadline that the caller has given.
  void extend_processing_bound(nanoseconds bound) noexcept;

  /// The bulk data of the broadcast; nothing if it has none.
  std::optional<bulk_info> bulk() const noexcept;
  /// Gives the place for the bulk data: one span, or several, of exactly its length in all; call it from
  /// `prepare`. The memory must stay valid, and is not to be changed, until `replied`: other members may read
  /// there. The list of spans may go. Errors: `already_exists` (there is a place; at the root it is the
  /// caller's memory), `invalid_argument` (another size, or no bulk data).
  status receive_bulk(std::span<std::byte> place);
  status receive_bulk(std::span<const std::span<std::byte>> place);

  executor& get_executor() const noexcept;
  /// The pool for computations that would block the node's thread:
  /// `co_await call.pool().run("name", function)`.
  worker_pool& pool() const;

 private:
  friend class detail::operation;
  explicit bcast_context(detail::operation& op) noexcept : operation_(op) {}
  ~bcast_context() = default;

  detail::operation& operation_;
};

/// Tells `on_reply` that a child's subtree has answered or is lost. It lives until the hook has returned.
template <class Reply>
struct arrival {
  /// The child's index, as in `bcast_context::child_rank`.
  std::uint32_t child = 0;
  /// The child's rank.
  std::uint32_t rank = 0;
  /// The merged reply of the subtree; null if there is none.
  const Reply* value = nullptr;
  /// True if every member of the subtree executed and is merged in `value`.
  bool clean = false;
  /// Why there is no value, or the first cause in the subtree.
  error reason;
};

}  // namespace scoll
