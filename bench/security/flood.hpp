#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "bench/kit/sockets.hpp"

namespace bench::security {

/// What a stranger does with a connection whose handshake it has begun.
enum class stranger : std::uint8_t {
  stays,    ///< says nothing more, so that the connection ends with the limit of the other side
  hangs_up  ///< closes it when the other side has answered, and has worked for it
};

/// Begins 1,000 handshakes per second with the process that listens at this port of this host, until it is
/// destroyed. It says what somebody might say who has recorded the beginning of a handshake by the ring in
/// `keys`: the other side finds that the key is right, and does all of its work.
class flood {
 public:
  flood(std::uint16_t port, const std::string& keys, stranger kind);
  ~flood();
  flood(const flood&) = delete;
  flood& operator=(const flood&) = delete;

 private:
  void connect_for_ever() noexcept;
  void begin_one();
  void forget_ended();

  std::uint16_t port_;
  stranger kind_;
  std::vector<std::byte> beginning_;
  std::deque<unique_fd> open_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace bench::security
