#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/memory/held_order.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

class region_table;

/// Answers large gets of peers that can read over their link: the bytes are copied into outgoing slabs, and the
/// peer gets a right to these. Orders that find no slab wait. So the exposed memory is used within the step
/// only, whatever becomes of the right.
class right_giver final {
 public:
  right_giver(endpoint& owner, region_table& regions, held_orders& orders) noexcept
      : endpoint_(owner), regions_(regions), orders_(orders) {}
  ~right_giver();
  right_giver(const right_giver&) = delete;
  right_giver& operator=(const right_giver&) = delete;

  /// True if a get of a peer is answered with a right. A segment that needs more slabs than a right has
  /// extents travels in a message.
  static bool gives(const session& to, std::uint32_t size) noexcept;
  /// Takes over an order that has been checked and accepted.
  void give(held_order& order) noexcept;
  /// The peer has released the right, or wants none any more. `order` has been dropped or refused.
  void released(held_order& order) noexcept;
  void drop_all_of(const session& peer) noexcept;

  /// The endpoint ends, and its links have been closed: ends the rights that are out.
  void close() noexcept;

  // The course of a right:
  void tell(held_order& order, std::span<const remote_extent> extents) noexcept;
  void ended(held_order& order) noexcept;

  /// The orders that wait for a slab, and the rights that are out.
  std::size_t waiting() const noexcept { return waiting_count_; }
  std::size_t out() const noexcept { return out_count_; }

 private:
  status still_there(const held_order& order) const noexcept;
  lent_range memory_of(const held_order& order) noexcept;
  bool try_give(held_order& order, remote_access& link) noexcept;
  bool acquire_slabs(held_order& order, slab_pool& pool) noexcept;
  std::size_t slabs_of(const session& peer) noexcept;
  void answer_with_bytes(held_order& order) noexcept;
  void forget(held_order& order) noexcept;
  void refilled() noexcept;
  void watch() noexcept;
  void recall(held_order& order) noexcept;
  void too_long() noexcept;

  endpoint& endpoint_;
  region_table& regions_;
  held_orders& orders_;
  intrusive_list<held_order> waiting_;
  intrusive_list<held_order> kept_;  // passed by, while `refilled` runs
  intrusive_list<held_order> out_;
  std::size_t waiting_count_ = 0;
  std::size_t out_count_ = 0;
  member_node<&right_giver::refilled> refill_{*this};
  member_timer<&right_giver::too_long> limit_{*this};
};

}  // namespace scoll::transport
