#pragma once

#include <cstddef>

#include "transport/io/datagram_address.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {

/// The addresses of ports that use sockets: the bytes of the socket's address.
inline datagram_address to_datagram(const socket_address& address) noexcept {
  const auto* const bytes = reinterpret_cast<const std::byte*>(address.data());
  return datagram_address::of({bytes, static_cast<std::size_t>(address.size())});
}

/// Empty if it is an address of another kind.
inline socket_address to_socket(const datagram_address& address) noexcept {
  const auto bytes = address.bytes();
  if (bytes.size() < sizeof(sockaddr_in)) return {};
  return socket_address::from(reinterpret_cast<const sockaddr*>(bytes.data()),
                              static_cast<socklen_t>(bytes.size()));
}

}  // namespace scoll::transport
