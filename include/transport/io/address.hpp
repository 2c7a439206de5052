#pragma once

#include <string>
#include <string_view>

#include "transport/session/frame.hpp"

namespace scoll::transport {

/// An address names a transport and a place in it: `tcp://10.0.0.1:7001`. Without a name the place is
/// one of the rail's own. Messages and bulk may go by different transports:
/// `tcp://10.0.0.1:7001;bulk=tcp://192.168.0.1:7002`.
struct named_address {
  std::string_view transport;  ///< "tcp"; empty if none is named
  std::string_view place;      ///< "10.0.0.1:7001"
};

/// Views of `address`.
constexpr named_address split_name(std::string_view address) noexcept {
  constexpr std::string_view mark = "://";
  const std::size_t at = address.find(mark);
  if (at == std::string_view::npos) return {{}, address};
  return {address.substr(0, at), address.substr(at + mark.size())};
}

inline constexpr std::string_view bulk_mark = ";bulk=";

/// The part of an address that a lane connects to: all of it, unless bulk has one of its own.
constexpr std::string_view address_of_lane(std::string_view address, lane_id lane) noexcept {
  const std::size_t at = address.find(bulk_mark);
  if (at == std::string_view::npos) return address;
  return lane == lane_id::bulk ? address.substr(at + bulk_mark.size()) : address.substr(0, at);
}

}  // namespace scoll::transport
