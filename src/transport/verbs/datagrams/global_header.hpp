#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// The bytes in front of each datagram that a device has received.
inline constexpr std::size_t global_header_bytes = 40;
using global_header = std::span<const std::byte, global_header_bytes>;

/// The address from which a datagram came, as its device has seen it; nothing if the bytes are not a header.
/// They are a header of InfiniBand or of IPv6, or 20 bytes without a meaning and a header of IPv4.
std::optional<gid> source_of(global_header bytes) noexcept;

/// The checksum of a header of IPv4 (RFC 1071). Over a header that has the right one it is 0.
std::uint16_t header_checksum(std::span<const std::byte> header) noexcept;

}  // namespace scoll::transport::verbs
