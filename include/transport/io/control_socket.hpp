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

/// Opens a listening UNIX socket that only its own user may connect to (mode 0600). A socket left there by a
/// dead process is removed. Errors: `busy` if a living process listens there, `too_large` for a path that is
/// too long for a socket, `io_error`. Thread: it blocks and changes the umask for a moment, so call it before
/// the process has other threads.
result<unique_fd> open_control_socket(const std::string& path);

/// One accepted connection of a control socket, which carries lines both ways.
class control_connection {
 public:
  static constexpr std::size_t longest_line = std::size_t{256} << 10;

  control_connection(reactor& loop, unique_fd fd) noexcept : loop_(loop), fd_(std::move(fd)) {}

  /// Gives the next line, without its newline. Errors: `not_authorised` if the other end is neither a process
  /// of this user nor of root, as the kernel says, `closed` at the end of the connection, `too_large` for a
  /// line longer than `longest_line`, `cancelled`, `io_error`.
  task<result<std::string>> read_line(stop_token stop);
  /// Sends `line`, which must not contain a newline, and a newline after it. One call at a time.
  task<status> write_line(std::string line, stop_token stop = {});
  /// Returns when the other side has closed its end. Error: `cancelled`.
  task<status> hung_up(stop_token stop);

  unique_fd release() noexcept { return std::move(fd_); }

 private:
  reactor& loop_;
  unique_fd fd_;
  bool known_ = false;  // who is at the other end
  std::string pending_;
  std::array<std::byte, 16384> received_;
};

}  // namespace scoll::transport
