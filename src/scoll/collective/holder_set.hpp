#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scoll::detail {

/// The members of a delayed group that are known to hold it, by rank. Each holder has a set of its own.
class holder_set {
 public:
  explicit holder_set(std::uint32_t members) : words_((std::size_t{members} + 63) / 64) {}

  bool contains(std::uint32_t rank) const noexcept { return (words_[rank / 64] >> rank % 64 & 1) != 0; }
  void insert(std::uint32_t rank) noexcept { words_[rank / 64] |= std::uint64_t{1} << rank % 64; }
  void insert(std::uint32_t first, std::uint32_t last) noexcept {
    for (std::uint32_t rank = first; rank < last;) {
      const std::uint32_t end = std::min(last, (rank / 64 + 1) * 64);  // of the word, or of the range
      words_[rank / 64] |= (~std::uint64_t{0} >> (64 - (end - rank))) << rank % 64;
      rank = end;
    }
  }
  void erase(std::uint32_t rank) noexcept { words_[rank / 64] &= ~(std::uint64_t{1} << rank % 64); }

 private:
  std::vector<std::uint64_t> words_;
};

}  // namespace scoll::detail
