#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/memory/given_right.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/right_reader.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::transport {

class piece_table;
class remote_orders;

/// A request of a peer that is answered in a later step. All requests that `memory_service` holds are of this
/// type.
struct held_order final : incoming, list_hook<>, right_holder, read_waiter {
  memory_head head;
  piece_table* table = nullptr;  // of an order that waits for a piece
  std::uint32_t piece = 0;
  remote_orders* remote = nullptr;  // of an order that is answered with a right, or by a READ
  given_right* right = nullptr;
  right_reader* reader = nullptr;
  bool told = false;  // of the right

  void on_right(const memory_right& what) noexcept override;
  void on_recall() noexcept override;
  void on_right_ended() noexcept override;
  void on_read(const status& outcome) noexcept override;
};

/// A pool of held orders. It grows to the most that were needed at once, and keeps that.
class held_orders {
 public:
  held_orders() = default;
  held_orders(const held_orders&) = delete;
  held_orders& operator=(const held_orders&) = delete;

  held_order& acquire() {
    if (free_.empty()) {
      blocks_.push_back(std::make_unique<held_order[]>(step));
      for (std::size_t i = 0; i < step; ++i) free_.push_back(blocks_.back()[i]);
    }
    return free_.pop_front();
  }
  /// Takes back an order that has been answered or dropped.
  void release(held_order& order) noexcept {
    order.list_hook<>::unlink();
    order.table = nullptr;
    order.remote = nullptr;
    order.right = nullptr;
    order.reader = nullptr;
    order.told = false;
    free_.push_front(order);
  }

 private:
  static constexpr std::size_t step = 16;

  std::vector<std::unique_ptr<held_order[]>> blocks_;
  intrusive_list<held_order> free_;
};

}  // namespace scoll::transport
