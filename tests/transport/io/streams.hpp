#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "on_reactor.hpp"
#include "transport/io/io_awaitables.hpp"
#include "transport/io/socket.hpp"

/// TCP connections over loopback, and helpers to send and receive through them.
namespace streams {

using namespace scoll;
using namespace scoll::transport;

inline socket_address parsed(const char* text) {
  const auto address = socket_address::parse(text);
  if (!address) FAIL(address.error().text());
  return *address;
}

inline std::byte pattern(std::size_t i) {
  return static_cast<std::byte>((i * 2654435761U) >> 13);
}

inline std::vector<std::byte> pattern_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = pattern(i);
  return bytes;
}

/// Two ends of a TCP connection over loopback.
struct connection {
  unique_fd near, far;
};

inline connection connect_pair(const char* host = "127.0.0.1:0") {
  const auto listener = open_listener(parsed(host)).value();
  const auto address = local_address(listener.get()).value();
  connection c;
  c.near = open_stream(address.family()).value();
  REQUIRE(::connect(c.near.get(), address.data(), address.size()) == 0);
  c.far = unique_fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  REQUIRE(c.far);
  return c;
}

/// A multishot receive that checks the pattern and keeps the buffers, if asked to.
class sink final : public io_completion {
 public:
  explicit sink(bool hold = false) noexcept : io_completion(&arrived), hold_(hold) {}
  ~sink() = default;

  std::size_t received = 0;
  bool intact = true;
  bool ended = false;
  std::int32_t last = 1;
  std::deque<buffer_ref> held;

 private:
  static void arrived(io_completion& done, const event& e) noexcept {
    auto& self = static_cast<sink&>(done);
    self.ended = !e.more;
    self.last = e.result;
    if (e.result <= 0) return;
    const auto size = static_cast<std::size_t>(e.result);
    const std::size_t begin = self.received;
    self.received += size;
    if (e.buffer == nullptr || size > e.buffer->capacity()) {
      self.intact = false;
      return;
    }
    for (std::size_t i = 0; i < size; ++i) {
      self.intact = self.intact && e.buffer->data()[i] == pattern(begin + i);
    }
    if (self.hold_) self.held.push_back(std::move(*e.buffer));
  }
  bool hold_;
};

inline task<status> send_to(reactor& r, int fd, std::span<const std::byte> bytes, stop_token stop) {
  const auto s = co_await async_send_all(r, fd, bytes, stop);
  co_return s;
}

template <class T>
struct outcome {
  std::optional<T> value;
  void start(on_reactor::group& g, task<T> work) { g.start(on_reactor::keep(std::move(work), value)); }
};

}  // namespace streams
