#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/result.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::transport {

class endpoint;
class region_table;

/// Memory of this node that peers read and write by one-sided operations: one span, or
/// any number of segments that count as one linear range. The bytes stay the caller's, who may also read and
/// write them; a peer sees what lies there when its segment is sent. What changes while a peer reads it with
/// checksums fails that peer's transfer.
///
/// From the moment a region is destroyed (or `unexpose` is called) no byte of it is read or written any more,
/// and peers that use its descriptor hear `stale_descriptor`; what was copied out of it before may still be
/// on its way. That takes no wait: of a segment that the kernel has in part, the rest is copied. Move-only,
/// on the endpoint's executor. One that outlives its endpoint is no longer exposed.
class memory_region final {
 public:
  memory_region() noexcept = default;
  memory_region(memory_region&& other) noexcept { take(other); }
  memory_region& operator=(memory_region&& other) noexcept;
  ~memory_region() { unexpose(); }

  /// Exposes memory for reading, or as `access` says. It may be empty. Errors: `busy` (the endpoint's
  /// `region_limit`), `invalid_argument` (not a valid access mode). Several segments may allocate.
  static result<memory_region> expose(endpoint& owner, std::span<const std::byte> memory);
  static result<memory_region> expose(endpoint& owner, std::span<std::byte> memory, memory_access access);
  static result<memory_region> expose(endpoint& owner, std::span<const std::span<const std::byte>> segments);
  static result<memory_region> expose(endpoint& owner, std::span<const std::span<std::byte>> segments,
                                      memory_access access);

  void unexpose() noexcept;
  bool exposed() const noexcept { return table_ != nullptr; }

  /// Valid for peers as long as it is exposed; only then may it be called.
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
