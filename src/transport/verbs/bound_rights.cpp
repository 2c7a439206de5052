#include "transport/verbs/bound_rights.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace scoll::transport::verbs {

bound_rights::bound_rights(std::uint32_t windows) : windows_(windows), holders_(windows), free_(windows) {
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

std::span<const std::uint32_t> bound_rights::take(read_grant& right, std::size_t pieces) {
  const std::uint32_t first = free_.back();
  holder& h = holders_[first];
  h = {.right = &right, .windows = {}, .count = pieces, .open = pieces};
  for (std::size_t i = 0; i < pieces; ++i) {
    h.windows[i] = free_.back();
    windows_[free_.back()] = first;
    free_.pop_back();
  }
  return {h.windows.data(), h.count};
}

std::span<const std::uint32_t> bound_rights::end(const read_grant& right) noexcept {
  const auto found = std::ranges::find(holders_, &right, &holder::right);
  if (found == holders_.end()) return {};
  found->ending = true;
  found->open += found->count;
  return {found->windows.data(), found->count};
}

bound_rights::progress bound_rights::completed(std::uint32_t window) noexcept {
  holder& h = holder_of(window);
  if (h.right == nullptr || h.open == 0 || --h.open != 0) return {};
  if (!h.ending) return {.in_force = h.right};
  for (std::size_t i = 0; i < h.count; ++i) free_.push_back(h.windows[i]);
  return {.ended = std::exchange(h.right, nullptr)};
}

void bound_rights::forget_all() noexcept {
  for (holder& h : holders_) h = {};
  free_.resize(windows_.size());
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

}  // namespace scoll::transport::verbs
