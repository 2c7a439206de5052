#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/time.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::transport {

class piece_table;
class right_giver;

/// A request of a peer that is answered in a later step. All requests that `memory_service` holds are of this
/// type.
struct held_order final : incoming, list_hook<> {
  /// The right that answers it.
  struct order_grant final : read_grant {
    order_grant(held_order& self, granted_function granted, ended_function ended) noexcept
        : read_grant(granted, ended), order(self) {}
    held_order& order;
  };
  inline held_order() noexcept;

  memory_head head;
  piece_table* table = nullptr;  // of an order that waits for a piece
  std::uint32_t piece = 0;

  // Of an order that is answered with a right:
  right_giver* giver = nullptr;
  remote_access* link = nullptr;  // null: it waits for a slab
  order_grant grant;
  std::array<slab*, read_grant::most_extents> slabs{};
  std::size_t slab_count = 0;
  std::uint64_t checksum = 0;
  bool has_checksum = false;
  bool recalled = false;
  time_point given_at{};

 private:
  static void granted(read_grant& g, std::span<const remote_extent> extents) noexcept;
  static void over(read_grant& g) noexcept;
};

inline held_order::held_order() noexcept : grant(*this, &granted, &over) {}

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
    free_.push_front(order);
  }

 private:
  static constexpr std::size_t step = 16;

  std::vector<std::unique_ptr<held_order[]>> blocks_;
  intrusive_list<held_order> free_;
};

}  // namespace scoll::transport
