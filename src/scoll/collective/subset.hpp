#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scoll/collective/rank_set.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/detail/addressees.hpp"
#include "transport/session/message.hpp"

namespace scoll::detail {

/// The most bytes of a collective message's payload.
inline constexpr std::size_t max_collective_payload_bytes = max_collective_bytes - transport::max_head_bytes;
/// The most bytes that the ranks of a subset may take in a message, beside its head and a request of full
/// size.
inline constexpr std::size_t max_subset_bytes = max_collective_payload_bytes - max_request_bytes;

/// The members of a group that a broadcast is for, counted from 0 in the order of their ranks. A subset is
/// immutable and shared, with its encoded form.
class subset {
 public:
  /// Makes a subset. Errors: `invalid_argument` (no rank, or one beyond the group), `too_large` (naming both
  /// sizes).
  static result<std::shared_ptr<const subset>> make(rank_set ranks, std::uint32_t group_members);
  /// Reads the encoded form from a peer. Errors: `malformed`, unless it is exactly what `make` would write.
  static result<std::shared_ptr<const subset>> decode(std::span<const std::byte> bytes,
                                                      std::uint32_t group_members);

  std::uint32_t size() const noexcept { return size_; }
  const rank_set& ranks() const noexcept { return ranks_; }
  std::span<const std::byte> encoded() const noexcept { return encoded_; }
  /// The XXH3 of the encoded ranks.
  std::uint64_t digest() const noexcept { return digest_; }

  std::uint32_t rank_at(std::uint32_t index) const noexcept {
    const std::size_t at = range_of(index);
    return ranks_.ranges()[at].first + (index - starts_[at]);
  }
  std::optional<std::uint32_t> index_of(std::uint32_t rank) const noexcept;

  /// Calls `fn(first, last)` for the runs of ranks that belong to the members `first` to `last`.
  template <class Fn>
  void visit(std::uint32_t first, std::uint32_t last, Fn fn) const {
    for (std::size_t at = range_of(first); first != last; ++at) {
      const rank_range& range = ranks_.ranges()[at];
      const std::uint32_t offset = first - starts_[at];
      const std::uint32_t count = std::min(last - first, range.size() - offset);
      fn(range.first + offset, range.first + offset + count);
      first += count;
    }
  }

 private:
  subset() = default;
  std::size_t range_of(std::uint32_t index) const noexcept {
    return static_cast<std::size_t>(std::upper_bound(starts_.begin(), starts_.end(), index) -
                                    starts_.begin()) -
           1;
  }
  void count();
  status encode();

  rank_set ranks_;
  std::vector<std::uint32_t> starts_;  // the index of each range's first member
  std::uint32_t size_ = 0;
  std::vector<std::byte> encoded_;
  std::uint64_t digest_ = 0;
};

}  // namespace scoll::detail
