#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "scoll/coro/result.hpp"
#include "transport/io/socket.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// The name of a port of datagrams: the IP address and the UDP port at which it tells where it can be reached.
/// An IPv4 address has its mapped form.
struct datagram_name {
  gid host{};
  std::uint16_t port = 0;

  friend auto operator<=>(const datagram_name&, const datagram_name&) noexcept = default;
};

/// The name of a socket address; nothing if there is none: its host or its port is open, or it is an IPv4
/// address in the form of an IPv6 address.
std::optional<datagram_name> name_of(const socket_address& address) noexcept;
/// The address of a name. A link-local one has the scope of `own`.
socket_address address_of(const datagram_name& name, const socket_address& own) noexcept;

/// Reads a name such as "verbs://10.0.0.1:7002". Error: `invalid_argument`.
result<socket_address> parse_name(std::string_view text);

}  // namespace scoll::transport::verbs

template <>
struct std::hash<scoll::transport::verbs::datagram_name> {
  std::size_t operator()(const scoll::transport::verbs::datagram_name& name) const noexcept {
    std::uint64_t value = 0xcbf29ce484222325;  // FNV-1a
    const auto add = [&value](unsigned byte) { value = (value ^ byte) * 0x100000001b3; };
    for (const std::uint8_t b : name.host) add(b);
    add(name.port & 0xffU);
    add(name.port >> 8U);
    return static_cast<std::size_t>(value);
  }
};
