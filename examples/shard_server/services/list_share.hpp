#pragma once

#include <cstddef>
#include <cstdint>

namespace shard {

/// The lists of all members have to fit into one reply. Each member therefore fills no more than its share
/// and says when it had to cut, so that no list is lost because another one is long.
class list_share {
 public:
  /// `overhead` is the size of the reply without its lists, in bytes.
  list_share(std::size_t reply_capacity, std::size_t overhead, std::uint32_t members) noexcept
      : left_((reply_capacity - overhead) / members) {
    static_cast<void>(take(bytes_per_part));
  }

  /// Returns true if an element of this many bytes fits. After one that did not fit, no other does.
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
