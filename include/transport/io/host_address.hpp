#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {

/// A place to connect to or to listen at, as people write it: "storage-7:7001", "127.0.0.1:7001" or
/// "[::1]:7001".
struct host_address {
  /// The host's name, as a view of the text that was parsed; empty if the host is a number.
  std::string_view name;
  std::uint16_t port = 0;
  /// The address if the host is a number, otherwise empty.
  socket_address number;

  /// Reads a numeric address, or a host name with a port. A host name has up to 253 letters, digits, '-', '_'
  /// and '.'; its last label is not a number. Nothing is resolved. Error: `invalid_argument`, whose text
  /// names the address and says what is wrong.
  static result<host_address> parse(std::string_view text);
};

/// The addresses of a host in the order in which they are to be tried. Their ports are not used.
using address_list = std::vector<socket_address>;

/// Looks the addresses of a host name up. It may block, is called on any thread, by several at once, and must
/// not throw. The text of an error says why there is no answer.
using resolve_function = std::function<result<address_list>(const std::string& host)>;

/// Asks the system (getaddrinfo), which reads /etc/hosts and asks name servers. It blocks, possibly for many
/// seconds. Each address appears once, in the system's order of preference, IPv6 and IPv4. Error:
/// `not_found`, with the system's reason.
result<address_list> resolve_host(const std::string& host);

}  // namespace scoll::transport
