#include "transport/io/socket.hpp"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <optional>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {
namespace {

constexpr const char* address_form = "expected 127.0.0.1:7001 or [::1]:7001";

std::optional<std::uint32_t> to_number(std::string_view text, std::uint32_t most) noexcept {
  std::uint32_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto parsed = std::from_chars(begin, end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end || value > most) return std::nullopt;
  return value;
}

std::optional<std::uint32_t> to_scope(const std::string& text) noexcept {
  if (const unsigned index = if_nametoindex(text.c_str()); index != 0) return index;
  return to_number(text, UINT32_MAX);
}

bool parse_v6(std::string_view host, sockaddr_in6& out) {
  const auto percent = host.find('%');
  const std::string address(host.substr(0, percent));
  if (inet_pton(AF_INET6, address.c_str(), &out.sin6_addr) != 1) return false;
  out.sin6_family = AF_INET6;
  if (percent == std::string_view::npos) return true;
  const auto scope = to_scope(std::string(host.substr(percent + 1)));
  out.sin6_scope_id = scope.value_or(0);
  return scope.has_value();
}

bool parse_v4(std::string_view host, sockaddr_in& out) {
  if (inet_pton(AF_INET, std::string(host).c_str(), &out.sin_addr) != 1) return false;
  out.sin_family = AF_INET;
  return true;
}

bool looks_like_a_name(std::string_view host) noexcept {
  return host.find_first_not_of("0123456789.") != std::string_view::npos &&
         host.find(':') == std::string_view::npos;
}

error system_failure(int errno_value, std::string_view call, const socket_address& address) {
  const error named = make_error(errc::io_error, "{} {}", call, address.to_string());
  return error::system(errno_value, named.text());
}

status set_option(int fd, int level, int name, const void* value, socklen_t size, std::string_view what) {
  if (setsockopt(fd, level, name, value, size) != 0) return error::system(errno, what);
  return {};
}

using name_function = int (*)(int, sockaddr*, socklen_t*);

result<socket_address> address_by(name_function ask, int fd, std::string_view what) {
  sockaddr_storage found{};
  socklen_t size = sizeof found;
  if (ask(fd, reinterpret_cast<sockaddr*>(&found), &size) != 0) return error::system(errno, what);
  return socket_address::from(reinterpret_cast<const sockaddr*>(&found), size);
}

}  // namespace

void unique_fd::reset(int fd) noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

result<socket_address> socket_address::parse(std::string_view text) {
  const auto colon = text.rfind(':');
  const auto refuse = [text](const char* why) {
    return make_error(errc::invalid_argument, "address '{:.44}': {}", text, why);
  };
  if (colon == std::string_view::npos || text.ends_with(']')) return refuse("the port is missing");
  std::string_view host = text.substr(0, colon);
  const auto port = to_number(text.substr(colon + 1), UINT16_MAX);
  if (!port) return refuse("the port is not in 0..65535");

  socket_address address;
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    if (!parse_v6(host, address.storage_.v6)) return refuse(address_form);
  } else if (!parse_v4(host, address.storage_.v4)) {
    return refuse(looks_like_a_name(host) ? "names are not resolved, give a number" : address_form);
  }
  address.set_port(static_cast<std::uint16_t>(*port));
  return address;
}

socket_address socket_address::from(const sockaddr* address, socklen_t size) noexcept {
  // In a receive buffer the address may not be aligned.
  const auto* bytes = reinterpret_cast<const std::byte*>(address);
  sa_family_t family = AF_UNSPEC;
  std::memcpy(&family, bytes + offsetof(sockaddr, sa_family), sizeof family);
  socket_address made;
  if (family == AF_INET && size >= sizeof(sockaddr_in)) {
    std::memcpy(&made.storage_.v4, bytes, sizeof(sockaddr_in));
  } else if (family == AF_INET6 && size >= sizeof(sockaddr_in6)) {
    std::memcpy(&made.storage_.v6, bytes, sizeof(sockaddr_in6));
  }
  return made;
}

socklen_t socket_address::size() const noexcept {
  switch (family()) {
    case AF_INET: return sizeof(sockaddr_in);
    case AF_INET6: return sizeof(sockaddr_in6);
    default: return 0;
  }
}

std::uint16_t socket_address::port() const noexcept {
  switch (family()) {
    case AF_INET: return ntohs(storage_.v4.sin_port);
    case AF_INET6: return ntohs(storage_.v6.sin6_port);
    default: return 0;
  }
}

bool socket_address::is_loopback() const noexcept {
  if (family() == AF_INET) return ntohl(storage_.v4.sin_addr.s_addr) >> 24U == IN_LOOPBACKNET;
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&storage_.v6.sin6_addr) != 0;
}

void socket_address::set_port(std::uint16_t port) noexcept {
  if (family() == AF_INET) storage_.v4.sin_port = htons(port);
  if (family() == AF_INET6) storage_.v6.sin6_port = htons(port);
}

std::string socket_address::to_string() const {
  char host[INET6_ADDRSTRLEN] = {};
  switch (family()) {
    case AF_INET:
      inet_ntop(AF_INET, &storage_.v4.sin_addr, host, sizeof host);
      return fmt::format("{}:{}", host, port());
    case AF_INET6:
      inet_ntop(AF_INET6, &storage_.v6.sin6_addr, host, sizeof host);
      if (storage_.v6.sin6_scope_id == 0) return fmt::format("[{}]:{}", host, port());
      return fmt::format("[{}%{}]:{}", host, storage_.v6.sin6_scope_id, port());
    default: return "(no address)";
  }
}

std::strong_ordering operator<=>(const socket_address& a, const socket_address& b) noexcept {
  if (const auto order = a.family() <=> b.family(); order != 0) return order;
  if (a.family() == AF_INET) {
    const auto& left = a.storage_.v4;
    const auto& right = b.storage_.v4;
    if (const auto order = ntohl(left.sin_addr.s_addr) <=> ntohl(right.sin_addr.s_addr); order != 0)
      return order;
  }
  if (a.family() == AF_INET6) {
    const auto& left = a.storage_.v6;
    const auto& right = b.storage_.v6;
    const int order = std::memcmp(&left.sin6_addr, &right.sin6_addr, sizeof left.sin6_addr);
    if (order != 0) return order <=> 0;
    if (const auto scope = left.sin6_scope_id <=> right.sin6_scope_id; scope != 0) return scope;
  }
  return a.port() <=> b.port();
}

status bind_device(int fd, std::string_view device) {
  const auto size = static_cast<socklen_t>(device.size());
  if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device.data(), size) == 0) return {};
  const error named = make_error(errc::io_error, "bind to the device {:.32}", device);
  return error::system(errno, named.text());
}

result<unique_fd> open_listener(const socket_address& address, int backlog, std::string_view device) {
  const int family = address.family();
  if (family == AF_UNSPEC) return error(errc::invalid_argument, "listen: no address");
  unique_fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_failure(errno, "socket for", address);
  const int on = 1;
  if (status s = set_option(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on, "SO_REUSEADDR"); !s)
    return s.error();
  if (family == AF_INET6) {
    if (status s = set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on, "IPV6_V6ONLY"); !s) {
      return s.error();
    }
  }
  if (!device.empty()) {
    if (status s = bind_device(fd.get(), device); !s) return s.error();
  }
  if (::bind(fd.get(), address.data(), address.size()) != 0)
    return system_failure(errno, "listen on", address);
  if (::listen(fd.get(), backlog) != 0) return system_failure(errno, "listen on", address);
  return fd;
}

result<unique_fd> open_stream(int family) {
  unique_fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return error::system(errno, "socket");
  return fd;
}

result<unique_fd> open_datagram(const socket_address& address, std::string_view device) {
  const int family = address.family();
  if (family == AF_UNSPEC) return error(errc::invalid_argument, "bind: no address");
  unique_fd fd(::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return system_failure(errno, "socket for", address);
  const int on = 1;
  if (family == AF_INET6) {
    if (status s = set_option(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on, "IPV6_V6ONLY"); !s)
      return s.error();
  }
  if (!device.empty()) {
    if (status s = bind_device(fd.get(), device); !s) return s.error();
  }
  if (::bind(fd.get(), address.data(), address.size()) != 0) return system_failure(errno, "bind to", address);
  return fd;
}

status bind_source(int fd, const socket_address& source) {
#ifdef IP_BIND_ADDRESS_NO_PORT
  // The port is then chosen at connect, so it only has to be free towards that peer.
  const int on = 1;
  if (source.port() == 0)
    static_cast<void>(setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on));
#endif
  if (::bind(fd, source.data(), source.size()) != 0) return system_failure(errno, "bind to", source);
  return {};
}

status set_no_delay(int fd, bool on) {
  const int value = on ? 1 : 0;
  return set_option(fd, IPPROTO_TCP, TCP_NODELAY, &value, sizeof value, "TCP_NODELAY");
}

status set_congestion_control(int fd, const char* algorithm) {
  const auto set = set_option(fd, IPPROTO_TCP, TCP_CONGESTION, algorithm,
                              static_cast<socklen_t>(std::strlen(algorithm)), "TCP_CONGESTION");
  if (set) return set;
  return error::system(set.error().detail(),
                       make_error(errc::io_error, "TCP_CONGESTION {}", algorithm).text());
}

status set_user_timeout(int fd, nanoseconds limit) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(limit).count();
  if (milliseconds < 0 || milliseconds > INT32_MAX) return error(errc::invalid_argument, "TCP_USER_TIMEOUT");
  const auto value = static_cast<unsigned>(milliseconds);
  return set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, sizeof value, "TCP_USER_TIMEOUT");
}

status set_unsent_limit(int fd, std::uint32_t bytes) {
  return set_option(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes, "TCP_NOTSENT_LOWAT");
}

status set_keep_alive(int fd, nanoseconds idle) {
  constexpr int probes = 3;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(idle).count();
  if (seconds < 1 || seconds > 32767) return error(errc::invalid_argument, "TCP_KEEPIDLE");
  const int on = 1;
  const int before = static_cast<int>(seconds);
  const int between = std::max(1, before / probes);
  if (const status s = set_option(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on, "SO_KEEPALIVE"); !s) return s;
  if (const status s = set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, &before, sizeof before, "TCP_KEEPIDLE");
      !s) {
    return s;
  }
  if (const status s = set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between, "TCP_KEEPINTVL");
      !s) {
    return s;
  }
  return set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes, "TCP_KEEPCNT");
}

status set_dscp(int fd, int family, std::uint8_t dscp) {
  const int value = dscp << 2;  // the other two bits belong to ECN
  if (family == AF_INET6)
    return set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, &value, sizeof value, "IPV6_TCLASS");
  return set_option(fd, IPPROTO_IP, IP_TOS, &value, sizeof value, "IP_TOS");
}

status set_receive_queue(int fd, std::uint32_t bytes) {
  const auto value = static_cast<int>(std::min<std::uint32_t>(bytes, INT32_MAX));
  return set_option(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof value, "SO_RCVBUF");
}

std::uint64_t datagrams_dropped(int fd) noexcept {
  std::uint32_t counters[SK_MEMINFO_VARS] = {};
  socklen_t size = sizeof counters;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counters, &size) != 0) return 0;
  return counters[SK_MEMINFO_DROPS];
}

result<socket_address> local_address(int fd) {
  return address_by(&::getsockname, fd, "getsockname");
}
result<socket_address> peer_address(int fd) {
  return address_by(&::getpeername, fd, "getpeername");
}

}  // namespace scoll::transport
