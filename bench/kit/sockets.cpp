#include "sockets.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace bench {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

void prepare(int fd, const std::string& congestion_control) {
  scoll::transport::set_no_delay(fd).value();
  if (!congestion_control.empty())
    scoll::transport::set_congestion_control(fd, congestion_control.c_str()).value();
}

unique_fd checked(int fd, const char* call) {
  if (fd < 0) fail(call);
  return unique_fd(fd);
}

}  // namespace

void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

unique_fd listen_anywhere(std::uint16_t& port) {
  constexpr int backlog = 512;
  unique_fd fd = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  sockaddr_in address = loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(fd.get(), generic, size) != 0) fail("bind");
  if (listen(fd.get(), backlog) != 0) fail("listen");
  if (getsockname(fd.get(), generic, &size) != 0) fail("getsockname");
  port = ntohs(address.sin_port);
  return fd;
}

unique_fd connect_to(std::uint16_t port, const std::string& congestion_control) {
  unique_fd fd = checked(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  const sockaddr_in address = loopback(port);
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("connect");
  prepare(fd.get(), congestion_control);
  return fd;
}

unique_fd accept_one(int listener, const std::string& congestion_control) {
  unique_fd fd = checked(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC), "accept");
  prepare(fd.get(), congestion_control);
  return fd;
}

void set_congestion_control_of_all(const std::string& name) {
  if (name.empty()) return;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    int protocol = 0;
    socklen_t size = sizeof protocol;
    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP)
      scoll::transport::set_congestion_control(fd, name.c_str()).value();
  }
}

void send_all(int fd, const void* bytes, std::size_t size) {
  const auto* at = static_cast<const std::byte*>(bytes);
  while (size != 0) {
    const ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
    if (sent <= 0) fail("send");
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void receive_all(int fd, void* into, std::size_t size) {
  auto* at = static_cast<std::byte*>(into);
  while (size != 0) {
    const ssize_t got = recv(fd, at, size, 0);
    if (got <= 0) fail("recv");
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

}  // namespace bench
