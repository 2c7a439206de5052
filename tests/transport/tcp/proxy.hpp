#pragma once

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "transport/io/socket.hpp"

namespace network {

/// Somebody between two nodes: it accepts connections, passes them on to another address, and may alter, keep
/// or end what goes by. It works while the test calls `turn`.
class proxy {
 public:
  using bytes = std::vector<std::byte>;
  enum class way : std::uint8_t { there, back };  ///< from the side that connected, and to it

  struct connection {
    scoll::transport::unique_fd from, to;
    std::size_t number = 0;  ///< from 0
    bytes there, back;       ///< what has gone by, as it was sent
    bool over = false;
  };

  explicit proxy(std::string target) : target_(std::move(target)) {
    auto made =
        scoll::transport::open_listener(scoll::transport::socket_address::parse("127.0.0.1:0").value());
    listener_ = std::move(made.value());
  }

  std::string address() const { return scoll::transport::local_address(listener_.get()).value().to_string(); }

  /// Sees each run of bytes before it goes on, and may change it; false ends the connection without it.
  std::function<bool(connection&, way, bytes&)> passing;
  std::list<connection> connections;
  /// Passes on one run of bytes each way in a turn, and has the kernel keep little of what is still to come, so that
  /// the socket of whoever sends much is full. For connections that are made from then on.
  bool slow = false;

  void turn() {
    while (true) {
      scoll::transport::unique_fd from(
          ::accept4(listener_.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!from) break;
      connection& c = connections.emplace_back();
      c.number = connections.size() - 1;
      if (slow) keep_little(from.get());
      c.from = std::move(from);
      c.to = dial();
    }
    for (connection& c : connections) {
      if (!c.over) pass(c, way::there, c.from.get(), c.to.get(), c.there);
      if (!c.over) pass(c, way::back, c.to.get(), c.from.get(), c.back);
    }
  }
  static void end(connection& c) {
    c.over = true;
    c.from.reset();
    c.to.reset();
  }

 private:
  static void keep_little(int fd) {
    const int little = 65536;
    REQUIRE(::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof little) == 0);
  }
  scoll::transport::unique_fd dial() const {
    const auto to = scoll::transport::socket_address::parse(target_).value();
    scoll::transport::unique_fd fd(::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (slow) keep_little(fd.get());
    REQUIRE(::connect(fd.get(), to.data(), to.size()) == 0);
    REQUIRE(::fcntl(fd.get(), F_SETFL, O_NONBLOCK) == 0);
    return fd;
  }
  void pass(connection& c, way which, int from, int to, bytes& record) {
    while (true) {
      bytes some(65536);
      const ssize_t n = ::recv(from, some.data(), some.size(), 0);
      if (n < 0 && errno == EAGAIN) return;
      if (n <= 0) return end(c);
      some.resize(static_cast<std::size_t>(n));
      const bytes original = some;
      const bool goes_on = !passing || passing(c, which, some);
      record.insert(record.end(), original.begin(), original.end());
      for (std::size_t at = 0; at < some.size();) {
        const ssize_t sent = ::send(to, some.data() + at, some.size() - at, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) continue;
        if (sent < 0) return end(c);
        at += static_cast<std::size_t>(sent);
      }
      if (!goes_on) return end(c);
      if (slow) return;
    }
  }

  std::string target_;
  scoll::transport::unique_fd listener_;
};

}  // namespace network
