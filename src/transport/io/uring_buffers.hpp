#pragma once

#include <liburing.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "transport/io/buffer.hpp"

namespace scoll::transport {

/// Buffers lent to the kernel to receive into: a provided buffer ring. At each arrival the kernel picks one,
/// which then belongs to the receiver; another buffer takes its place as long as the pool has any.
class uring_buffers {
 public:
  /// `entries` is a power of two; `group` tells the rings of one reactor apart.
  uring_buffers(buffer_pool& pool, std::uint32_t entries, std::uint16_t group);
  ~uring_buffers();
  uring_buffers(const uring_buffers&) = delete;
  uring_buffers& operator=(const uring_buffers&) = delete;

  /// Registers the buffers with `ring`. Returns 0 or an errno.
  int attach(io_uring& ring) noexcept;
  /// Takes back the buffers that are still provided. No receive may be pending.
  void detach(io_uring& ring) noexcept;

  bool attached() const noexcept { return shared_ != nullptr; }
  std::uint16_t group() const noexcept { return group_; }

  /// Fills the ring up from the pool, to as many buffers as are wanted.
  void replenish() noexcept;
  /// The kernel had no buffer left: from now on it gets twice as many. It uses them in turn, so it is best to
  /// give it no more than it needs: fewer stay in the cache.
  void want_more() noexcept { wanted_ = std::min(2 * wanted_, entries_); }
  /// The buffer with the number that a completion named.
  buffer_ref take(std::uint32_t number) noexcept;
  /// The number of buffers that the kernel has; those in completions that have not been taken yet count too.
  std::uint32_t provided() const noexcept { return provided_; }

 private:
  buffer_pool& pool_;
  std::uint32_t entries_;
  std::uint32_t wanted_;
  std::uint16_t group_;
  std::uint32_t provided_ = 0;
  std::size_t mapped_bytes_;
  io_uring_buf_ring* shared_ = nullptr;
  std::vector<buffer_ref> buffers_;  // by number in the pool
};

/// Tests whether multishot receives into provided buffers work, by receiving one byte through a socket pair.
bool probe_multishot_receive(io_uring& ring, uring_buffers& buffers) noexcept;

}  // namespace scoll::transport
