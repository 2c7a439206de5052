#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scoll/collective/rank_set.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/session/endpoint_buffers.hpp"

namespace scoll {

namespace detail {
class engine;
class operation;
}  // namespace detail

/// The memory that nodes work in: buffers and operations that are reused. A node has its own pools unless it
/// is given some that it shares with other nodes of the same thread, in programs that run many nodes.
class node_pools {
 public:
  explicit node_pools(std::size_t nodes = 1);
  ~node_pools();
  node_pools(const node_pools&) = delete;
  node_pools& operator=(const node_pools&) = delete;

 private:
  friend class detail::engine;
  friend class detail::operation;

  detail::operation& acquire_operation();
  void add_operation();
  /// Called while an operation begins: a second one can then run beside it without an allocation.
  void provide_for_one_more();
  /// The next operation that begins is this one, whose memory is in the caches, unless they take turns.
  void release_operation(detail::operation& op, bool take_turns) noexcept;
  /// A buffer of `max_payload_bytes` in which an answer of unknown size is encoded.
  std::span<std::byte> scratch();

  transport::endpoint_buffers buffers_;
  std::vector<std::unique_ptr<detail::operation>> operations_;
  intrusive_list<detail::operation> idle_;
  std::vector<std::byte> scratch_;
  std::vector<rank_range> ranges_;
};

}  // namespace scoll
