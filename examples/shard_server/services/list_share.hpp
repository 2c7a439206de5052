#pragma once

#include <cstddef>
#include <cstdint>

namespace shard {

/// Lists from all members have to fit into one reply, so each member fills no more than its share and says
/// when it had to cut: nobody's list is lost because another's was long.
class list_share {
 public:
  /// `overhead`: what the reply takes without its lists.
  list_share(std::size_t reply_capacity, std::size_t overhead, std::uint32_t members) noexcept
      : left_((reply_capacity - overhead) / members) {
    static_cast<void>(take(bytes_per_part));
  }

  /// Whether an element of so many bytes fits; after one that did not, none does.
  bool take(std::size_t bytes) noexcept {
    full_ = full_ || bytes > left_;
    if (!full_) left_ -= bytes;
    return !full_;
  }

 private:
  static constexpr std::size_t bytes_per_part = 9;  // rank, cut, number of elements
  std::size_t left_;
  bool full_ = false;
};

}  // namespace shard
