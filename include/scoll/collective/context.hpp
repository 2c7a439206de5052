#pragma once

#include <cstdint>
#include <span>

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

/// What a hook may ask about the broadcast it serves. Lives as long as the operation on this node: until the
/// last of its hooks has returned.
///
/// It can be passed where a nested operation takes options, as in `co_await pull(node, d, 0, into, context)`:
/// the operation then has this time limit and stop token, and its defaults otherwise.
class bcast_context : public detail::converts_to_options<bcast_context> {
 public:
  bcast_context(const bcast_context&) = delete;
  bcast_context& operator=(const bcast_context&) = delete;

  const operation_id& id() const noexcept;
  const membership& members() const noexcept;
  std::uint32_t rank() const noexcept;  ///< of this node
  std::uint32_t root_rank() const noexcept;
  bool is_root() const noexcept { return rank() == root_rank(); }
  node_id self() const noexcept { return members().node(rank()); }
  node_id root() const noexcept { return members().node(root_rank()); }
  /// The entities the request is for on this node.
  std::span<const entity> entities() const noexcept { return members().entities(rank()); }

  /// Children of this node in the broadcast's tree, in the order they are sent to.
  std::uint32_t child_count() const noexcept;
  std::uint32_t child_rank(std::uint32_t child) const noexcept;
  /// Nodes in a child's subtree, itself included.
  std::uint32_t child_subtree_nodes(std::uint32_t child) const noexcept;
  std::uint64_t child_subtree_entities(std::uint32_t child) const noexcept;

  /// The point in time by which this node must have answered, in the past once nobody waits for the answer.
  /// It fits the `deadline` of nested operations; `remaining().left(now)` is the duration.
  time_limit remaining() const noexcept;
  /// Fires when nobody waits for the answer any more: cancelled, past its time, or the node shuts down.
  stop_token stop() const noexcept;
  /// From `prepare`: this request takes longer here than its root assumed. Ancestors are told and wait
  /// accordingly; a deadline given by the caller is not moved.
  void extend_processing_bound(nanoseconds bound) noexcept;

  executor& get_executor() const noexcept;
  /// For work that burns CPU: `co_await call.pool().run("name", function)`.
  worker_pool& pool() const;

 private:
  friend class detail::operation;
  explicit bcast_context(detail::operation& op) noexcept : operation_(op) {}
  ~bcast_context() = default;

  detail::operation& operation_;
};

/// What `on_reply` is told: a child's subtree has answered or is lost. Lives until the hook has returned.
template <class Reply>
struct arrival {
  std::uint32_t child = 0;       ///< index as in `bcast_context::child_rank`
  std::uint32_t rank = 0;        ///< of the child
  const Reply* value = nullptr;  ///< merged reply of the subtree; null if there is none
  bool clean = false;            ///< every member of the subtree executed and is merged in `value`
  error reason;                  ///< why there is no value, or the first cause in the subtree
};

}  // namespace scoll
