#include "bytes.hpp"

#include <algorithm>
#include <cstring>

namespace scoll::test {

std::vector<std::byte> made(std::size_t size, std::uint64_t salt) {
  std::vector<std::byte> all(size);
  std::byte* const bytes = all.data();
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>(i * 131 + (i >> 8) * 7 + salt * 29);
  return all;
}

bool same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::size_t same_up_to(std::span<const std::byte> a, std::span<const std::byte> b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool is_mixture(std::span<const std::byte> memory, std::span<const std::byte> a,
                std::span<const std::byte> b) {
  if (a.size() != memory.size() || b.size() != memory.size()) return false;
  for (std::size_t at = 0; at < memory.size(); ++at) {
    if (memory[at] != a[at] && memory[at] != b[at]) return false;
  }
  return true;
}

bool holds_any(std::span<const std::byte> memory, std::byte b) {
  return !memory.empty() && std::memchr(memory.data(), std::to_integer<int>(b), memory.size()) != nullptr;
}

bool holds_only(std::span<const std::byte> memory, std::byte b) {
  return std::all_of(memory.begin(), memory.end(), [b](std::byte other) { return other == b; });
}

void fill(std::span<std::byte> memory, std::byte b) {
  if (!memory.empty()) std::memset(memory.data(), std::to_integer<int>(b), memory.size());
}

std::string hex(std::span<const std::byte> bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const std::byte b : bytes) {
    text += digits[std::to_integer<unsigned>(b) >> 4];
    text += digits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

void replace(std::span<std::byte> memory, std::byte before, std::byte after) {
  std::replace(memory.begin(), memory.end(), before, after);
}

}  // namespace scoll::test
