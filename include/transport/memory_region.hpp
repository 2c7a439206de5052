#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../coro/result.hpp"
#include "region_descriptor.hpp"

namespace scoll::transport {

class endpoint;
class region_table;

/// Memory of this node that peers read and write by one-sided operations (`T1`, `C14`, `F3`): one span, or a
/// few segments that count as one linear range. The bytes stay the caller's, who may also read and write
/// them; a peer sees what lies there when its segment is served, in a step of the endpoint's executor.
///
/// From the moment a region is destroyed (or `unexpose` is called) no byte of it is read or written any more,
/// and peers that use its descriptor hear `stale_descriptor`; what was copied out of it before may still be
/// on its way. Move-only, on the endpoint's executor. One that outlives its endpoint is no longer exposed.
class memory_region final {
 public:
  static constexpr std::size_t max_segments = 16;

  memory_region() noexcept = default;
  memory_region(memory_region&& other) noexcept { take(other); }
  memory_region& operator=(memory_region&& other) noexcept;
  ~memory_region() { unexpose(); }

  /// Exposes memory for reading, or as `access` says. It may be empty. Errors: `busy` (the endpoint's
  /// `region_limit`), `invalid_argument` (more than `max_segments`, or an access that is none).
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

  struct segment {
    std::byte* data = nullptr;
    std::size_t size = 0;
  };

  void add(std::span<std::byte> memory) noexcept;
  void take(memory_region& other) noexcept;
  static result<memory_region> enter(endpoint& owner, memory_region region, memory_access access);
  // Of ranges that lie within the region.
  void copy_out(std::uint64_t offset, std::span<std::byte> into) const noexcept;
  void copy_in(std::uint64_t offset, std::span<const std::byte> from) noexcept;
  /// Calls `use(piece)` for every contiguous piece of a range.
  template <class Use>
  void visit(std::uint64_t offset, std::size_t length, Use&& use) const;

  region_table* table_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint64_t size_ = 0;
  std::uint32_t index_ = 0;
  memory_access access_ = memory_access::read;
  std::uint8_t segment_count_ = 0;
  std::array<segment, max_segments> segments_{};
};

}  // namespace scoll::transport
