#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/io/address.hpp"
#include "transport/session/greeting.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

/// A hash of the addresses that a node tells its peers; 0 if there are none.
inline std::uint64_t hash_of(const std::vector<rail_place>& places) noexcept {
  std::uint64_t hash = 0;
  for (const rail_place& each : places) hash = wire::checksum(std::as_bytes(std::span(each.address)), hash);
  return hash;
}

/// True if two addresses of the control lane are the same, whether or not they name the transport.
inline bool same_place(std::string_view left, std::string_view right) noexcept {
  const auto place = [](std::string_view a) {
    return split_name(address_of_lane(a, lane_id::control)).place;
  };
  return place(left) == place(right);
}

inline bool has_place(const std::vector<rail_place>& places, std::string_view address) noexcept {
  return std::ranges::any_of(places,
                             [&](const rail_place& each) { return same_place(each.address, address); });
}

/// True if one of the addresses by which a peer is known is among them.
inline bool has_any_place(const std::vector<rail_place>& places, const path_table* known) noexcept {
  return known != nullptr && std::ranges::any_of(known->addresses(), [&](const std::string& address) {
           return has_place(places, address);
         });
}

}  // namespace scoll::transport
