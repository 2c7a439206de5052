#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace scoll::transport {

/// The same memory in the one type that tables and transfers use for both directions. The bytes are never
/// written: a region of constant memory grants read access only, and a push only reads its source.
inline std::span<std::byte> as_writable(std::span<const std::byte> memory) noexcept {
  return {const_cast<std::byte*>(memory.data()), memory.size()};
}

inline std::vector<std::span<std::byte>> all_writable(std::span<const std::span<const std::byte>> memory) {
  std::vector<std::span<std::byte>> same;
  same.reserve(memory.size());
  for (const auto& piece : memory) same.push_back(as_writable(piece));
  return same;
}

}  // namespace scoll::transport
