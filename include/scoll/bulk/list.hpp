#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scoll/bulk/bulk.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"

namespace scoll {

/// A message member that holds any number of descriptors. The message itself carries up to `inline_limit` of
/// them; a longer list is pulled from the node that offers it.
struct bulk_list {
  static constexpr std::size_t inline_limit = 16;
  static constexpr std::uint32_t count_limit = 1U << 20U;

  std::uint32_t count = 0;
  /// All descriptors, if there are at most `inline_limit`.
  std::vector<region_descriptor> here;
  /// Otherwise the memory that holds them, encoded.
  region_descriptor elsewhere;

  friend bool operator==(const bulk_list&, const bulk_list&) = default;
};

/// Keeps a list available to peers until it is destroyed. The handles behind the descriptors must be kept as
/// well.
class offered_list {
 public:
  offered_list() = default;

  /// The list to put into the message.
  const bulk_list& list() const noexcept { return list_; }

 private:
  friend result<offered_list> offer(node& at, std::vector<region_descriptor> descriptors);

  bulk_list list_;
  std::vector<std::byte> encoded_;
  memory_region exposed_;
};

/// Offers a list of descriptors to peers. Errors: `busy` (too many regions), `too_large` (more than
/// `count_limit` descriptors).
result<offered_list> offer(node& at, std::vector<region_descriptor> descriptors);

/// Gives the descriptors of a list that has arrived; pulls them if they did not travel with it. Errors are
/// those of `pull`; `malformed` (the list is incomplete or cannot be decoded); `too_large` (the list claims
/// more descriptors or bytes than a list may have).
task<result<std::vector<region_descriptor>>> resolve(node& at, const bulk_list& list,
                                                     transfer_options options = {});

}  // namespace scoll
