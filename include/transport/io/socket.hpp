#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::transport {

/// Owns a file descriptor and closes it. While an operation on it is pending, it must not be closed.
class unique_fd {
 public:
  constexpr unique_fd() noexcept = default;
  constexpr explicit unique_fd(int fd) noexcept : fd_(fd) {}
  constexpr unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  constexpr int get() const noexcept { return fd_; }
  constexpr explicit operator bool() const noexcept { return fd_ >= 0; }
  constexpr int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept;

 private:
  int fd_ = -1;
};

/// A numeric IPv4 or IPv6 address with a port: a value. Default constructed it is empty and `family()`
/// AF_UNSPEC.
class socket_address {
 public:
  socket_address() noexcept : storage_{} {}

  /// Reads "127.0.0.1:7001", "[::1]:7001" or "[fe80::1%eth0]:7001". Names are not resolved, because that
  /// blocks: `invalid_argument` says what is wrong.
  static result<socket_address> parse(std::string_view text);
  /// Empty for families other than AF_INET and AF_INET6.
  static socket_address from(const sockaddr* address, socklen_t size) noexcept;

  int family() const noexcept { return storage_.any.sa_family; }
  const sockaddr* data() const noexcept { return &storage_.any; }
  socklen_t size() const noexcept;
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;

  /// As `parse` reads it.
  std::string to_string() const;

  /// By family, address, scope and port.
  friend std::strong_ordering operator<=>(const socket_address& a, const socket_address& b) noexcept;
  friend bool operator==(const socket_address& a, const socket_address& b) noexcept { return (a <=> b) == 0; }

 private:
  union {
    sockaddr_in6 v6;  // the largest: it is what zeroes the others
    sockaddr_in v4;
    sockaddr any;
  } storage_;
};

/// A listening TCP socket: address reuse, IPv6 only for IPv6 addresses, non-blocking, closed on exec. Port 0
/// takes a free one; `local_address` tells which. Errors name the address.
result<unique_fd> open_listener(const socket_address& address, int backlog = 1024);

/// A TCP socket, not yet connected, of that family (AF_INET or AF_INET6), closed on exec. Blocking, as a ring
/// wants it: reads through a ring of a non-blocking one fail with EAGAIN instead of waiting.
result<unique_fd> open_stream(int family);

/// A UDP socket bound to `address`: IPv6 only for IPv6 addresses, blocking as a ring wants it, closed on
/// exec. Port 0 takes a free one. Errors name the address.
result<unique_fd> open_datagram(const socket_address& address);

/// Binds an unconnected socket to a source address; port 0 leaves the choice to the connect.
status bind_source(int fd, const socket_address& source);

/// Sends small segments at once instead of waiting for more.
status set_no_delay(int fd, bool on = true);
/// The congestion control by the kernel's name for it, such as "cubic".
status set_congestion_control(int fd, const char* algorithm);
/// For how long sent bytes may stay unacknowledged before the connection breaks. Whole milliseconds; 0 is the
/// default of the system.
status set_user_timeout(int fd, nanoseconds limit);

/// Probes a connection that has been silent for `idle` (rounded up to seconds), three times within about as
/// long again, and breaks it if nobody answers: a peer whose machine is gone says nothing else.
status set_keep_alive(int fd, nanoseconds idle);

/// The traffic class of all that is sent, as a DSCP of 0 to 63, of a socket of that family.
status set_dscp(int fd, int family, std::uint8_t dscp);
/// What the kernel may queue for this socket, its own overhead included; it grants up to net.core.rmem_max.
status set_receive_queue(int fd, std::uint32_t bytes);
/// How many arrivals this datagram socket had no room for; 0 if the kernel does not say.
std::uint64_t datagrams_dropped(int fd) noexcept;

result<socket_address> local_address(int fd);
result<socket_address> peer_address(int fd);

}  // namespace scoll::transport
