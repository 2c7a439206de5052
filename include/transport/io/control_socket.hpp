#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {

/// A listening UNIX socket that only its user may connect to (mode 0600). What a dead process left in its
/// place is removed. Blocking, and it sets the umask for a moment: for the time before there are threads.
/// Errors: `busy` if a living process listens there, `too_large` for a path that no socket can have,
/// `io_error`.
result<unique_fd> open_control_socket(const std::string& path);

/// One connection that a control socket has accepted: lines in, lines out.
class control_connection {
 public:
  static constexpr std::size_t longest_line = std::size_t{256} << 10;

  control_connection(reactor& loop, unique_fd fd) noexcept : loop_(loop), fd_(std::move(fd)) {}

  /// Without its newline. Errors: `closed` (the end), `too_large`, `cancelled`, `io_error`.
  task<result<std::string>> read_line(stop_token stop);
  /// `line` without a newline in it. One at a time.
  task<status> write_line(std::string line, stop_token stop = {});
  /// Returns when the other side has closed its end, or `cancelled`.
  task<status> hung_up(stop_token stop);

  unique_fd release() noexcept { return std::move(fd_); }

 private:
  reactor& loop_;
  unique_fd fd_;
  std::string pending_;
  std::array<std::byte, 16384> received_;
};

}  // namespace scoll::transport
