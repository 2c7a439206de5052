#pragma once

#include <cstddef>
#include <cstdint>

#include "scoll/coro/completion.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/task.hpp"
#include "transport/memory/given_right.hpp"
#include "transport/memory/held_order.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/piece_server.hpp"
#include "transport/memory/region_table.hpp"
#include "transport/memory/registrations.hpp"
#include "transport/memory/remote_orders.hpp"
#include "transport/memory/right_reader.hpp"
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
  right_giver& giver() noexcept { return giver_; }
  right_readers& readers() noexcept { return readers_; }
  const remote_orders& remote() const noexcept { return remote_; }

  /// A span that is about to be registered. Error: `already_exists` (a part of it is registered).
  result<std::unique_ptr<registered_span>> begin_registration(std::span<std::byte> memory);
  /// Recalls all rights to a memory, and waits until no hardware uses it. The memory must not be lent anew
  /// meanwhile.
  task<void> unpinned(lent_memory& memory);

  /// True if transfers with the peer are under way.
  bool refers_to(node_id peer) const noexcept { return transfers_.refers_to(peer); }
  /// Forgets a peer to which nothing refers.
  void forget_peer(node_id peer) noexcept { transfers_.forget(peer); }

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
  void serve_waiting() noexcept;
  void refilled() noexcept;
  void tell_unpinned() noexcept;
  static void freed(void* self) noexcept;

  /// Somebody waits until no hardware uses a memory.
  struct withdrawal : list_hook<> {
    explicit withdrawal(lent_memory& of) noexcept : memory(of) {}
    lent_memory& memory;
    completion<> over;
  };

  endpoint& endpoint_;
  held_orders orders_;
  piece_server pieces_;
  region_table regions_;
  buffer_pool buffers_;
  registrations registered_;
  right_giver giver_;
  right_readers readers_;
  remote_orders remote_;
  transfer_queue transfers_;
  intrusive_list<withdrawal> withdrawals_;
  intrusive_list<held_order> waiting_;
  std::size_t waiting_count_ = 0;
  member_node<&memory_service::refilled> refill_{*this};
};

}  // namespace scoll::transport
