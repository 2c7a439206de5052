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

/// Owns a file descriptor and closes it. It must not be closed while an operation on it is pending.
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

/// A numeric IPv4 or IPv6 address with a port. A default-constructed address is empty, and its `family()` is
/// AF_UNSPEC.
class socket_address {
 public:
  socket_address() noexcept : storage_{} {}

  /// Reads "127.0.0.1:7001", "[::1]:7001" or "[fe80::1%eth0]:7001". It does not resolve names, because that
  /// blocks. Error: `invalid_argument`, whose text says what is wrong.
  static result<socket_address> parse(std::string_view text);
  /// Copies a system address. The result is empty for families other than AF_INET and AF_INET6.
  static socket_address from(const sockaddr* address, socklen_t size) noexcept;

  int family() const noexcept { return storage_.any.sa_family; }
  const sockaddr* data() const noexcept { return &storage_.any; }
  socklen_t size() const noexcept;
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  /// True if only this host can reach it: 127.0.0.0/8 or ::1.
  bool is_loopback() const noexcept;

  /// Prints the address in the form that `parse` reads.
  std::string to_string() const;

  /// Orders by family, address, scope and port.
  friend std::strong_ordering operator<=>(const socket_address& a, const socket_address& b) noexcept;
  friend bool operator==(const socket_address& a, const socket_address& b) noexcept { return (a <=> b) == 0; }

 private:
  union {
    sockaddr_in6 v6;  // the largest member: its initialiser zeroes the others too
    sockaddr_in v4;
    sockaddr any;
  } storage_;
};

/// Opens a listening TCP socket with address reuse, for IPv6 only if the address is IPv6, non-blocking,
/// closed on exec. Port 0 takes a free port, which `local_address` tells. With a `device`, only what comes in
/// by that network interface is accepted. Errors name the address or the device.
result<unique_fd> open_listener(const socket_address& address, int backlog = 1024,
                                std::string_view device = {});

/// Opens an unconnected TCP socket of a family (AF_INET or AF_INET6), closed on exec. It is blocking: a
/// ring's reads of a non-blocking socket would fail with EAGAIN instead of waiting.
result<unique_fd> open_stream(int family);

/// Opens a UDP socket bound to `address`, for IPv6 only if the address is IPv6, blocking as a ring needs it,
/// closed on exec. Port 0 takes a free port. With a `device`, the name of a network interface, datagrams
/// leave and arrive by that interface alone: two interfaces in one network need it, because routing chooses
/// the interface by the destination and not by the source address. Errors name the address, or the device.
result<unique_fd> open_datagram(const socket_address& address, std::string_view device = {});

/// Binds a socket to a network interface such as "eth0": it sends and receives by no other. Error: names the
/// device, and what is wrong with it.
status bind_device(int fd, std::string_view device);

/// Binds an unconnected socket to a source address; port 0 leaves the port to the connect.
status bind_source(int fd, const socket_address& source);

/// Sends small segments at once instead of waiting for more.
status set_no_delay(int fd, bool on = true);
/// Sets the congestion control by the kernel's name for it, such as "cubic".
status set_congestion_control(int fd, const char* algorithm);
/// Sets how long sent bytes may stay unacknowledged before the connection breaks, in whole milliseconds; 0
/// stands for the system's default.
status set_user_timeout(int fd, nanoseconds limit);

/// Bounds the bytes of a TCP connection that the kernel has taken and not sent yet: it takes no more at or
/// above `bytes`. A message that is sent later then waits behind no more than that. 0 stands for the system's
/// default.
status set_unsent_limit(int fd, std::uint32_t bytes);

/// Probes a connection after it has been silent for `idle` (rounded up to seconds), three times within about
/// as long again, and breaks it if no answer comes. Otherwise a peer whose machine is gone would never be
/// noticed.
status set_keep_alive(int fd, nanoseconds idle);

/// Sets the traffic class of everything sent, as a DSCP of 0 to 63, on a socket of that family.
status set_dscp(int fd, int family, std::uint8_t dscp);
/// Sets how many bytes the kernel may queue for this socket, its own overhead included. It grants at most
/// net.core.rmem_max.
status set_receive_queue(int fd, std::uint32_t bytes);
/// The number of arrivals for which this datagram socket had no room; 0 if the kernel does not say.
std::uint64_t datagrams_dropped(int fd) noexcept;

result<socket_address> local_address(int fd);
result<socket_address> peer_address(int fd);

}  // namespace scoll::transport
