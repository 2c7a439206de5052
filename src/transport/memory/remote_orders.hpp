#pragma once

#include <cstddef>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/memory/given_right.hpp"
#include "transport/memory/held_order.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/memory/right_reader.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

class region_table;

/// The orders of peers whose bytes hardware moves. A get is answered with a right, and its cancel is the
/// release of that right. The bytes of a put are read by the right in its head, and then it is answered.
class remote_orders final {
 public:
  remote_orders(endpoint& owner, held_orders& orders, region_table& regions, right_giver& giver,
                right_readers& readers) noexcept
      : endpoint_(owner), orders_(orders), regions_(regions), giver_(giver), readers_(readers) {}
  remote_orders(const remote_orders&) = delete;
  remote_orders& operator=(const remote_orders&) = delete;

  /// Answers a get that has been checked, now or when there is a slab.
  void serve_get(request_view& request, const memory_head& head) noexcept;
  void serve_put(request_view& request) noexcept;
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
  void told(held_order& order, const memory_right& what) noexcept;
  void send_part(held_order& order, const memory_right& what) noexcept;
  void has_read(held_order& order, const status& outcome) noexcept;
  void forget(held_order& order) noexcept;

  endpoint& endpoint_;
  held_orders& orders_;
  region_table& regions_;
  right_giver& giver_;
  right_readers& readers_;
  intrusive_list<held_order> starved_;  // gets without a slab
  intrusive_list<held_order> served_;   // all others
  std::size_t open_ = 0;
};

}  // namespace scoll::transport
