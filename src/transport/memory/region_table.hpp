#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

#include "scoll/coro/result.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/session/lent_memory.hpp"

namespace scoll::transport {

class memory_service;
class piece_server;
class piece_table;
struct endpoint_options;

/// The regions that a node exposes, by index and generation. It does no I/O.
class region_table {
 public:
  region_table(memory_service& owner, const endpoint_options& options, piece_server& pieces) noexcept;
  ~region_table();
  region_table(const region_table&) = delete;
  region_table& operator=(const region_table&) = delete;

  status add(memory_region& region, std::span<const std::span<std::byte>> segments);
  /// Adds a region in pieces, with options that fit the segments.
  status add(memory_region& region, std::span<const std::span<std::byte>> segments,
             const piece_options& options);
  void remove(memory_region& region) noexcept;
  /// The region takes no further orders, and awaits its end. Returns its memory.
  lent_memory& begin_withdrawal(memory_region& region) noexcept;
  memory_service& service() const noexcept { return owner_; }
  void moved(memory_region& region) noexcept { slots_[region.index_].region = &region; }

  /// Checks that a peer may do what `head` asks: the region exists, permits it, and contains the range.
  status check(const memory_head& head) const noexcept;
  // These take a range of `head.length` bytes that was checked in this step.
  void read(const memory_head& head, std::span<std::byte> into) const noexcept {
    slots_[head.region].memory.copy_out(head.offset, into);
  }
  void write(const memory_head& head, std::span<const std::byte> from) noexcept {
    slots_[head.region].memory.copy_in(head.offset, from);
  }
  lent_range range(const memory_head& head) noexcept {
    return {&slots_[head.region].memory, head.offset, head.length};
  }

  /// The pieces of a region; null if it is not in pieces.
  piece_table* pieces(std::uint32_t region) const noexcept { return slots_[region].pieces; }

  node_id self() const noexcept { return self_; }
  std::uint64_t incarnation() const noexcept { return incarnation_; }
  std::size_t size() const noexcept { return size_; }

 private:
  struct slot {
    memory_region* region = nullptr;
    bool withdrawn = false;
    lent_memory memory;
    piece_table* pieces = nullptr;
    std::uint64_t generation = 0;
    std::uint32_t next_free = 0;  // index + 1; 0: none
  };

  slot* open(memory_region& region) noexcept;
  status no_place() const noexcept;

  memory_service& owner_;
  node_id self_;
  std::uint64_t incarnation_;
  std::uint32_t limit_;
  piece_server& pieces_;
  std::uint64_t last_generation_ = 0;
  std::size_t size_ = 0;
  std::deque<slot> slots_;  // slots never move, because their memory is borrowed
  std::uint32_t free_ = 0;  // index + 1; 0: none
};

/// Checks that a range lies within a region. The sum is never formed, because it could overflow.
status check_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size) noexcept;
status check_access(memory_access granted, memory_order_kind wanted) noexcept;

}  // namespace scoll::transport
