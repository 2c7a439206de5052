#pragma once

#include <cstddef>
#include <cstdint>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "transport/memory/held_order.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/piece_server.hpp"
#include "transport/memory/region_table.hpp"
#include "transport/memory/transfer_queue.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

/// An endpoint's registered memory. It serves the gets and puts of peers, and owns the queue of this node's
/// own. Large segments are sent and received in place. Small ones are copied through one pool of buffers.
/// When the pool is empty they wait; a waiting get of a peer keeps its credit, so the windows bound how many
/// wait.
class memory_service final : public endpoint_events {
 public:
  explicit memory_service(endpoint& owner);
  ~memory_service();
  memory_service(const memory_service&) = delete;
  memory_service& operator=(const memory_service&) = delete;

  region_table& regions() noexcept { return regions_; }
  piece_server& pieces() noexcept { return pieces_; }
  transfer_queue& transfers() noexcept { return transfers_; }
  const buffer_pool& buffers() const noexcept { return buffers_; }
  /// The gets of peers that wait for a buffer.
  std::size_t waiting() const noexcept { return waiting_count_; }

  /// The endpoint is being destroyed, and its sessions have ended.
  void close() noexcept;

  void on_request(request_view& request) noexcept override;
  lent_range place_payload(std::span<const std::byte> head, std::uint32_t payload_bytes) noexcept override;
  void on_cancelled(incoming& work, const cancel_reason& reason) noexcept override;
  void on_session_lost(session& peer, const error& reason) noexcept override;

 private:
  status check(const memory_head& head, const request_view& request) const noexcept;
  message* compose(const memory_head& head);
  void hold(request_view& request, const memory_head& head);
  void forget(held_order& order) noexcept;
  void refilled() noexcept;

  endpoint& endpoint_;
  held_orders orders_;
  piece_server pieces_;
  region_table regions_;
  buffer_pool buffers_;
  transfer_queue transfers_;
  intrusive_list<held_order> waiting_;
  std::size_t waiting_count_ = 0;
  member_node<&memory_service::refilled> refill_{*this};
};

}  // namespace scoll::transport
