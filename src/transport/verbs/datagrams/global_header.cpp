#include "transport/verbs/datagrams/global_header.hpp"

#include <array>
#include <cstring>

#include "transport/verbs/mapped_address.hpp"

namespace scoll::transport::verbs {
namespace {

constexpr std::size_t v4_header_at = 20;
constexpr std::size_t v4_header_bytes = 20;
constexpr std::size_t v4_source_at = 12;
constexpr std::size_t v6_source_at = 8;
constexpr unsigned v4_first_byte = 0x45;  // the version, and the length of a header without options

unsigned version_of(std::byte first) noexcept {
  return std::to_integer<unsigned>(first) >> 4U;
}

/// The bytes in front of a header of IPv4 may look like a header of IPv6, so its checksum decides.
bool is_v4(std::span<const std::byte> header) noexcept {
  return std::to_integer<unsigned>(header[0]) == v4_first_byte && header_checksum(header) == 0;
}

}  // namespace

std::uint16_t header_checksum(std::span<const std::byte> header) noexcept {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i + 1 < header.size(); i += 2)
    sum += (std::to_integer<std::uint32_t>(header[i]) << 8U) | std::to_integer<std::uint32_t>(header[i + 1]);
  while (sum > UINT16_MAX) sum = (sum & UINT16_MAX) + (sum >> 16U);
  return static_cast<std::uint16_t>(~sum);
}

std::optional<gid> source_of(global_header bytes) noexcept {
  const auto v4 = bytes.subspan<v4_header_at, v4_header_bytes>();
  if (is_v4(v4)) {
    std::array<std::uint8_t, 4> address{};
    std::memcpy(address.data(), v4.data() + v4_source_at, address.size());
    return mapped(address);
  }
  if (version_of(bytes[0]) != 6) return std::nullopt;
  gid address{};
  std::memcpy(address.data(), bytes.data() + v6_source_at, address.size());
  return address;
}

}  // namespace scoll::transport::verbs
