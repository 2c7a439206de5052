#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "transport/memory/pieces.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::transport {

class endpoint;
class piece_table;
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

  /// Exposes memory for reading, piece by piece. An order of a peer for a piece that is not there yet waits;
  /// `publish` answers it. Only orders for pieces reach such a region: `pull` and `push` get
  /// `invalid_argument`. A peer may have 8 orders waiting, and all peers together
  /// `endpoint_options::parked_limit`; further ones are answered `busy`, and tried again. The memory, and
  /// what `options.events` names, must stay valid until the region ends. After the first regions this
  /// allocates nothing for memory of one span. Errors: those of `expose`, and `invalid_argument` (options
  /// that do not fit the memory).
  static result<memory_region> expose_pieces(endpoint& owner, std::span<const std::byte> memory,
                                             const piece_options& options);
  static result<memory_region> expose_pieces(endpoint& owner,
                                             std::span<const std::span<const std::byte>> segments,
                                             const piece_options& options);
  static result<memory_region> expose_pieces(endpoint& owner, std::span<const std::span<std::byte>> segments,
                                             const piece_options& options);

  // These take a region that was exposed in pieces, and is still exposed.

  /// The number of pieces.
  std::uint32_t pieces() const noexcept;
  /// True if the piece is published and not retired.
  bool published(std::uint32_t piece) const noexcept;
  /// States that a piece is there. The piece must not change until it is retired or the region ends.
  /// `checksum` is the XXH3 with which it has been verified; it travels with the piece and is not computed
  /// anew, so that whoever receives the piece finds out if it has changed. Orders that wait for the piece are
  /// answered in this step. A piece is published once.
  void publish(std::uint32_t piece, std::uint64_t checksum) noexcept;
  /// States that the slot of a published piece is about to hold another one, in a region in slots. Peers that
  /// order the piece from now on get `stale`; what still refers to it is recalled.
  void retire(std::uint32_t piece) noexcept;
  /// States that no further piece will be published. Orders that wait, and all that come later, are answered
  /// with `reason`.
  void fail(const error& reason) noexcept;

  /// Ends the exposure now. If hardware may still read the memory, its link is broken first, which blocks for
  /// milliseconds: `withdraw` avoids that.
  void unexpose() noexcept;
  /// Ends the exposure when nothing uses the memory any more: rights that peers have to registered memory are
  /// recalled, and links of peers that do not release them within 50 ms are broken. Other memory is ready at
  /// once. No order is served meanwhile. The region must neither move nor go until the await returns.
  task<void> withdraw();
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
  piece_table& in_pieces() const noexcept;

  region_table* table_ = nullptr;
  std::uint64_t generation_ = 0;
  std::uint64_t size_ = 0;
  std::uint32_t index_ = 0;
  memory_access access_ = memory_access::read;
};

}  // namespace scoll::transport
