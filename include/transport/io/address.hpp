#pragma once

#include <string>
#include <string_view>

#include "transport/session/frame.hpp"

namespace scoll::transport {

/// An address names a transport and a place in it: `tcp://10.0.0.1:7001`. An address without a transport's
/// name is a place of the rail that reads it. Messages and bulk data may use different transports:
/// `tcp://10.0.0.1:7001;bulk=tcp://192.168.0.1:7002`.
struct named_address {
  /// "tcp"; empty if the address names no transport.
  std::string_view transport;
  /// "10.0.0.1:7001", for example.
  std::string_view place;
};

/// Splits an address into its transport and its place. Both are views of `address`.
constexpr named_address split_name(std::string_view address) noexcept {
  constexpr std::string_view mark = "://";
  const std::size_t at = address.find(mark);
  if (at == std::string_view::npos) return {{}, address};
  return {address.substr(0, at), address.substr(at + mark.size())};
}

/// The end of an error about an address whose transport is not there: what to do about it, if anything.
constexpr std::string_view remedy_for(std::string_view transport) noexcept {
  return transport == "verbs" ? ": it needs node_rails with the devices of scoll::verbs" : "";
}

inline constexpr std::string_view bulk_mark = ";bulk=";

/// The part of an address that a lane connects to: all of it, unless bulk data has an address of its own.
constexpr std::string_view address_of_lane(std::string_view address, lane_id lane) noexcept {
  const std::size_t at = address.find(bulk_mark);
  if (at == std::string_view::npos) return address;
  return lane == lane_id::bulk ? address.substr(at + bulk_mark.size()) : address.substr(0, at);
}

}  // namespace scoll::transport
