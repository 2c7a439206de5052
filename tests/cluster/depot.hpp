#pragma once

#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "scoll/coro/event.hpp"
#include "scoll/scoll.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::test {

/// What `victim` does when it has a certain piece of an object.
enum class mishap : std::uint8_t {
  none,
  die,    ///< kills its own process
  stop,   ///< stops its own process; the test lets it go on
  reset,  ///< breaks all connections of its process
  alter,  ///< changes a byte that it has checked already
};

/// The places of a process that the library has.
struct lent_places {
  std::uint32_t now = 0;
  std::uint32_t ever = 0;
  event back;  ///< set whenever one has come back
};

/// Takes an object into memory. A member executes only if all bytes are those of the root.
struct depot {
  static constexpr service_id id{0x0301};
  static constexpr std::string_view name = "depot";
  static constexpr std::uint64_t piece_bytes = 1U << 20U;
  struct request {
    std::uint64_t digest = 0;
    std::uint8_t what = 0;
    std::uint32_t victim = 0;
    std::uint64_t piece = 0;  ///< after which it happens
  };
  using reply = sum<std::uint32_t>;

  std::vector<std::byte>* place;       ///< of this process
  std::function<void()> tell_stopped;  ///< is called before the process stops
  lent_places* lent;

  status prepare(const request& r, bcast_context& c) const {
    orders() = r;
    if (c.is_root() || !c.bulk()) return {};
    place->assign(c.bulk()->length, std::byte{0});
    status given = c.receive_bulk(*place);
    lent->now += given.has_value();
    lent->ever += given.has_value();
    return given;
  }
  void replied(bcast_context& c) const noexcept {
    if (c.is_root() || lent->now == 0) return;
    --lent->now;
    lent->back.set();
  }
  void on_bulk(const bulk_chunk& chunk, bcast_context& c) const {
    const request& r = orders();
    if (c.rank() != r.victim || chunk.offset / piece_bytes != r.piece) return;
    switch (static_cast<mishap>(r.what)) {
      case mishap::die: raise(SIGKILL); break;
      case mishap::stop:
        tell_stopped();
        raise(SIGSTOP);
        break;
      case mishap::reset: break_connections(); break;
      case mishap::alter: (*place)[chunk.offset + 7] ^= std::byte{1}; break;
      case mishap::none: break;
    }
  }
  result<reply> execute(const request& r, bcast_context& c) const {
    if (!c.is_root() && wire::checksum(*place) != r.digest)
      return error(errc::malformed, "these are not the bytes of the root");
    return reply{1};
  }

 private:
  /// A process takes part in one of these broadcasts at a time.
  static request& orders() {
    static request now;
    return now;
  }
  /// Shuts down every TCP connection of this process, as a failing network does.
  static void break_connections() {
    DIR* const directory = opendir("/proc/self/fd");
    while (const dirent* entry = readdir(directory)) {
      sockaddr_storage peer{};
      socklen_t size = sizeof peer;
      const int fd = std::atoi(entry->d_name);
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.ss_family == AF_INET)
        shutdown(fd, SHUT_RDWR);
    }
    closedir(directory);
  }
};

}  // namespace scoll::test
