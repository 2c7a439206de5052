#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>
#include <vector>

#include "bench/kit/sockets.hpp"

namespace bench::load {

/// One end of a connection on which messages of a fixed size arrive, and which keeps what it cannot send at once.
class raw_stream {
 public:
  raw_stream(int fd, std::size_t incoming_size) : fd_(fd), partial_(incoming_size) {}

  int fd() const noexcept { return fd_; }

  void put(std::span<const std::byte> bytes) { waiting_.insert(waiting_.end(), bytes.begin(), bytes.end()); }

  /// Sends what it can. Returns the number of system calls.
  std::uint32_t flush() {
    std::uint32_t calls = 0;
    while (sent_ < waiting_.size()) {
      ++calls;
      const ssize_t took =
          send(fd_, waiting_.data() + sent_, waiting_.size() - sent_, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (took < 0 && errno == EAGAIN) return calls;
      if (took < 0) fail("send");
      sent_ += static_cast<std::size_t>(took);
    }
    waiting_.clear();
    sent_ = 0;
    return calls;
  }

  /// Receives until there is no more, and calls `arrived(message)` for each message. Returns the number of system
  /// calls.
  template <class Arrived>
  std::uint32_t receive(Arrived&& arrived) {
    std::uint32_t calls = 0;
    while (true) {
      std::array<std::byte, 65536> bytes;
      ++calls;
      const ssize_t got = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (got < 0 && errno == EAGAIN) return calls;
      if (got <= 0) fail("recv");
      split(std::span(bytes).first(static_cast<std::size_t>(got)), arrived);
      if (static_cast<std::size_t>(got) < bytes.size()) return calls;
    }
  }

 private:
  template <class Arrived>
  void split(std::span<const std::byte> bytes, Arrived&& arrived) {
    while (!bytes.empty()) {
      if (have_ == 0 && bytes.size() >= partial_.size()) {
        arrived(bytes.first(partial_.size()));
        bytes = bytes.subspan(partial_.size());
        continue;
      }
      const std::size_t more = std::min(bytes.size(), partial_.size() - have_);
      std::memcpy(partial_.data() + have_, bytes.data(), more);
      bytes = bytes.subspan(more);
      have_ += more;
      if (have_ < partial_.size()) return;
      have_ = 0;
      arrived(std::span<const std::byte>(partial_));
    }
  }

  int fd_;
  std::vector<std::byte> waiting_;
  std::size_t sent_ = 0;
  std::vector<std::byte> partial_;  ///< a message of which `have_` bytes have come
  std::size_t have_ = 0;
};

}  // namespace bench::load
