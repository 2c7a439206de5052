#pragma once

#include <cstddef>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/memory/given_right.hpp"
#include "transport/memory/held_order.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/right_reader.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

class piece_server;
class region_table;

/// The orders of peers whose bytes hardware moves. A get is answered with a right, and its cancel is the
/// release of that right. The bytes of a put are read by the right in its head, and then it is answered.
class remote_orders final {
 public:
  remote_orders(endpoint& owner, held_orders& orders, region_table& regions, piece_server& pieces,
                right_giver& giver, right_readers& readers) noexcept
      : endpoint_(owner),
        orders_(orders),
        regions_(regions),
        pieces_(pieces),
        giver_(giver),
        readers_(readers) {}
  remote_orders(const remote_orders&) = delete;
  remote_orders& operator=(const remote_orders&) = delete;

  /// Answers a get that has been checked, now or when there is a slab.
  void serve_get(request_view& request, const memory_head& head) noexcept;
  void serve_put(request_view& request) noexcept;
  /// True if a piece is answered with a right: it needs a slab that holds all of it.
  static bool can_give(const session& peer, const lent_range& piece) noexcept;
  /// Answers an order for a piece that is there, now or when there is a slab.
  void serve_piece(request_view& request, const memory_head& head) noexcept;
  /// Likewise, for an order that has waited for the piece.
  void take_piece(held_order& order) noexcept;
  /// There are slabs again.
  void resume() noexcept;
  void cancelled(held_order& order, const cancel_reason& reason) noexcept;
  void drop_all_of(const session& peer) noexcept;
  /// The orders that are not over.
  std::size_t open() const noexcept { return open_; }

 private:
  friend struct held_order;

  held_order& accept(request_view& request, const memory_head& head) noexcept;
  bool give(held_order& order) noexcept;
  bool give_piece(held_order& order) noexcept;
  error refusal_of(const held_order& order) const noexcept;
  void told(held_order& order, const memory_right& what) noexcept;
  void right_ended(held_order& order) noexcept;
  void send_part(held_order& order, const memory_right& what) noexcept;
  void has_read(held_order& order, const status& outcome) noexcept;
  void forget(held_order& order) noexcept;

  endpoint& endpoint_;
  held_orders& orders_;
  region_table& regions_;
  piece_server& pieces_;
  right_giver& giver_;
  right_readers& readers_;
  intrusive_list<held_order> starved_;  // gets without a slab
  intrusive_list<held_order> served_;   // all others
  std::size_t open_ = 0;
};

}  // namespace scoll::transport
