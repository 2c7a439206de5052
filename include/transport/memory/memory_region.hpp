#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/result.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::transport {

class endpoint;
class region_table;

/// Memory of this node that peers read and write by one-sided operations: one span, or any number of segments
/// that count as one linear range. The bytes still belong to the caller, and may be read and written locally
/// too. A peer sees what they hold when its segment is sent. If they change while a peer reads them with
/// checksums, that peer's transfer fails.
///
/// Once a region is destroyed (or `unexpose` is called), none of its bytes is read or written any more, and
/// peers that use its descriptor get `stale_descriptor`. Bytes copied out of it before may still be on their
/// way. This needs no wait: if the kernel has taken a part of a segment, the rest is copied. A region that
/// outlives its endpoint is no longer exposed. Move-only. Thread: the endpoint's executor only.
class memory_region final {
 public:
  memory_region() noexcept = default;
  memory_region(memory_region&& other) noexcept { take(other); }
  memory_region& operator=(memory_region&& other) noexcept;
  ~memory_region() { unexpose(); }

  /// Exposes memory for reading, or as `access` says. The memory may be empty. Several segments may allocate.
  /// Errors: `busy` (the endpoint's `region_limit` is reached), `invalid_argument` (not a valid access mode).
  static result<memory_region> expose(endpoint& owner, std::span<const std::byte> memory);
  static result<memory_region> expose(endpoint& owner, std::span<std::byte> memory, memory_access access);
  static result<memory_region> expose(endpoint& owner, std::span<const std::span<const std::byte>> segments);
  static result<memory_region> expose(endpoint& owner, std::span<const std::span<std::byte>> segments,
                                      memory_access access);

  void unexpose() noexcept;
  bool exposed() const noexcept { return table_ != nullptr; }

  /// The name by which peers reach the region. It is valid as long as the region is exposed, and this may be
  /// called only then.
  region_descriptor descriptor() const noexcept;
  std::uint64_t size() const noexcept { return size_; }
  memory_access access() const noexcept { return access_; }

 private:
  friend class region_table;

  void take(memory_region& other) noexcept;
  static result<memory_region> enter(endpoint& owner, std::span<const std::span<std::byte>> segments,
                                     memory_access access);

  region_table* table_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint64_t size_ = 0;
  std::uint32_t index_ = 0;
  memory_access access_ = memory_access::read;
};

}  // namespace scoll::transport
