#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/ready_node.hpp"
#include "transport/memory/held_order.hpp"
#include "transport/memory/piece_table.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

class region_table;
class remote_orders;

/// Serves the orders of peers for pieces of this node's regions. An order for a piece that is not there gives
/// its credit back and waits; the number of such orders is bounded, for each peer and region and in all.
class piece_server final {
 public:
  piece_server(endpoint& owner, held_orders& orders, remote_orders& remote) noexcept
      : endpoint_(owner), orders_(orders), remote_(remote) {}
  piece_server(const piece_server&) = delete;
  piece_server& operator=(const piece_server&) = delete;

  /// The pieces of a region that begins.
  piece_table& open(const piece_options& options, lent_memory& whole,
                    std::span<const std::span<std::byte>> slots);
  /// The region has ended.
  void close(piece_table& table) noexcept;

  /// Answers with the bytes where they lie. A small piece is copied instead.
  void answer(incoming& work, piece_table& table, std::uint32_t piece) noexcept;
  void serve(request_view& request, const region_table& regions) noexcept;
  /// Answers an order that has waited; its piece is there.
  void answer_parked(held_order& order) noexcept;
  /// Forgets an order that has waited, and was refused or dropped.
  void release_parked(held_order& order) noexcept {
    --parked_;
    orders_.release(order);
  }
  /// The orders that wait.
  std::size_t parked() const noexcept { return parked_; }
  /// The most of them that are of one peer for pieces of one region. It looks at all of them.
  std::size_t most_parked_of_one() noexcept;
  void refuse_all(const error& reason) noexcept;
  void drop_all_of(const session& peer) noexcept;

  // For the deferred work of tables:
  void plan(ready_node& step) noexcept;
  void forget(ready_node& step) noexcept;

 private:
  error copy_small(message& m, const lent_range& at, std::uint64_t checksum) noexcept;
  void park(request_view& request, piece_table& table, const piece_head& order, std::uint32_t piece) noexcept;

  endpoint& endpoint_;
  held_orders& orders_;
  remote_orders& remote_;
  std::vector<std::unique_ptr<piece_table>> tables_;
  intrusive_list<piece_table> open_;
  intrusive_list<piece_table> spare_;
  std::size_t parked_ = 0;
};

}  // namespace scoll::transport
