#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/held_order.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/pieces.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

class piece_server;

/// The pieces of one region: which are there, with which checksums, and the orders that wait for others.
/// Tables are pooled, and keep their memory for the next region.
class piece_table final : public list_hook<> {
 public:
  enum class piece_state : std::uint8_t { absent, published, passed };

  explicit piece_table(piece_server& owner) noexcept : server_(owner) {}
  ~piece_table();
  piece_table(const piece_table&) = delete;
  piece_table& operator=(const piece_table&) = delete;

  /// Begins a region over `whole`, or over `slots` if the options say so. Both must stay until `end`.
  void begin(const piece_options& options, lent_memory& whole, std::span<const std::span<std::byte>> slots);
  /// The region has ended: refuses the orders that wait.
  void end() noexcept;

  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(states_.size()); }
  std::uint64_t length() const noexcept { return length_; }
  piece_state state(std::uint32_t piece) const noexcept { return states_[piece]; }
  const error& failure() const noexcept { return failure_; }
  piece_events* events() const noexcept { return options_.events; }
  /// The piece that a segment is exactly. Error: `invalid_argument` if it is none.
  result<std::uint32_t> piece_of(const memory_head& segment) const noexcept;
  /// The memory of a piece that has been published.
  lent_range range(std::uint32_t piece) noexcept;
  /// A message has borrowed the memory of a piece, or copied it.
  void note_use(std::uint32_t piece, bool lent) noexcept;
  std::uint64_t checksum(std::uint32_t piece) const noexcept { return checksums_[piece]; }

  void publish(std::uint32_t piece, std::uint64_t checksum) noexcept;
  void retire(std::uint32_t piece) noexcept;
  void fail(const error& reason) noexcept;

  /// An order for a piece that is absent begins to wait.
  void park(held_order& order) noexcept;
  std::size_t parked_of(const session& peer) noexcept;
  std::size_t most_parked_of_one() noexcept;
  /// Refuses all orders that wait.
  void refuse_all(const error& reason) noexcept;
  /// The session has ended: drops its orders.
  void drop_all_of(const session& peer) noexcept;

 private:
  struct slot {
    lent_memory memory;
    std::uint32_t piece = 0;
    bool used = false;  // since the last `on_returned`
  };

  std::uint32_t size_of(std::uint32_t piece) const noexcept;
  bool in_slots() const noexcept { return options_.length_in_slots != 0; }
  slot& slot_of(std::uint32_t piece) noexcept { return slots_[piece % slot_count_]; }
  static void given_back(void* self) noexcept;
  void tell_returned() noexcept;
  void hash_next() noexcept;

  piece_server& server_;
  piece_options options_;
  lent_memory* whole_ = nullptr;
  std::uint64_t length_ = 0;
  std::vector<piece_state> states_;
  std::vector<std::uint64_t> checksums_;
  std::deque<slot> slots_;  // they never move, because their memory is borrowed
  std::size_t slot_count_ = 0;
  intrusive_list<held_order> parked_;
  error failure_;
  member_node<&piece_table::tell_returned> returned_{*this};
  member_node<&piece_table::hash_next> hashing_{*this};
};

/// Checks options against the memory that they are for. Error: `invalid_argument`.
status check_pieces(const piece_options& options, std::span<const std::span<std::byte>> segments) noexcept;

}  // namespace scoll::transport
