#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scoll/bulk/bulk.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"

namespace scoll {

/// Any number of descriptors as one member of a message: a wire type with at most `inline_limit` of
/// them inside; more are pulled from who offers them.
struct bulk_list {
  static constexpr std::size_t inline_limit = 16;
  static constexpr std::uint32_t count_limit = 1U << 20U;

  std::uint32_t count = 0;
  std::vector<region_descriptor> here;  ///< all of them, if they are few
  region_descriptor elsewhere;          ///< otherwise: the memory where they lie, encoded

  friend bool operator==(const bulk_list&, const bulk_list&) = default;
};

/// Keeps a list that peers may resolve: RAII, as the handles behind the descriptors must be kept too.
class offered_list {
 public:
  offered_list() = default;

  /// What goes into the message.
  const bulk_list& list() const noexcept { return list_; }

 private:
  friend result<offered_list> offer(node& at, std::vector<region_descriptor> descriptors);

  bulk_list list_;
  std::vector<std::byte> encoded_;
  memory_region exposed_;
};

/// Errors: `busy` (too many regions), `too_large` (more than `count_limit`).
result<offered_list> offer(node& at, std::vector<region_descriptor> descriptors);

/// The descriptors of a list that has arrived, pulled if they did not travel with it. Errors as for `pull`,
/// and `malformed` (what was pulled is no such list).
task<result<std::vector<region_descriptor>>> resolve(node& at, const bulk_list& list,
                                                     transfer_options options = {});

}  // namespace scoll
