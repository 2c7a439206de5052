#include "base64.hpp"

#include <array>
#include <cstdint>

namespace shard {
namespace {

constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t no_digit = 64;

constexpr auto values = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(no_digit);
  for (std::uint8_t i = 0; i != 64; ++i) table[static_cast<unsigned char>(digits[i])] = i;
  return table;
}();

}  // namespace

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k != 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? std::to_integer<std::uint32_t>(bytes[i + k]) : 0);
    for (std::size_t k = 0; k != 4; ++k)
      text += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::optional<std::vector<std::byte>> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t group = 0;
  int bits = 0;
  for (const char c : text) {
    const std::uint8_t value = values[static_cast<unsigned char>(c)];
    if (value == no_digit) return std::nullopt;
    group = group << 6 | value;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<std::byte>(group >> bits));
  }
  if (to_base64(bytes).size() != text.size() + padding || (group & ((1U << bits) - 1)) != 0)
    return std::nullopt;
  return bytes;
}

}  // namespace shard
