#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace scoll::transport::verbs {

inline constexpr std::uint16_t introduction_version = 3;
inline constexpr std::size_t max_device_name_bytes = 64;

/// The payload of `introduce`: the queue pair of the speaker, as its peer needs it.
struct introduction {
  std::uint16_t version = introduction_version;
  /// The virtual lane's service level that the speaker uses.
  std::uint8_t service_level = 0;
  std::uint8_t reserved = 0;
  /// Names the link at both ends; chosen by the side that connects.
  std::uint32_t link = 0;
  std::array<std::uint8_t, 16> address{};
  std::uint16_t lid = 0;
  /// The READs that the speaker's device serves at a time.
  std::uint16_t read_depth = 0;
  std::uint32_t queue_pair = 0;
  /// The number of the speaker's first packet, at random.
  std::uint32_t first_packet = 0;
  /// The largest packet of the speaker's port, in bytes.
  std::uint32_t mtu = 0;
  /// The places that the speaker promises for a start.
  std::uint32_t slots = 0;
  /// The speaker's queue pair for READs, and the number of its first packet; both 0 if it has none.
  std::uint32_t read_pair = 0;
  std::uint32_t first_read_packet = 0;
  /// For error messages.
  std::string device;
};

constexpr bool wire_valid(const introduction& said) noexcept {
  return said.device.size() <= max_device_name_bytes;
}

}  // namespace scoll::transport::verbs
