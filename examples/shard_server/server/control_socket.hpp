#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <string>

#include "coro/result.hpp"
#include "coro/stop.hpp"
#include "coro/task.hpp"
#include "transport/reactor.hpp"
#include "transport/socket.hpp"

namespace shard {

/// A listening UNIX socket that only its user may connect to. What a dead server left in its place is
/// removed; `busy` if a living one is there. For the time before there are threads: it sets the umask.
scoll::result<scoll::transport::unique_fd> open_control_socket(const std::filesystem::path& path);

/// One connection to the control socket: lines in, lines out.
class control_connection {
 public:
  static constexpr std::size_t longest_line = std::size_t{256} << 10;

  control_connection(scoll::transport::reactor& engine, scoll::transport::unique_fd fd) noexcept
      : engine_(engine), fd_(std::move(fd)) {}

  /// Without its newline. Errors: `closed` (the end), `too_large`, `cancelled`, `io_error`.
  scoll::task<scoll::result<std::string>> read_line(scoll::stop_token stop);
  /// `line` without a newline in it. One at a time.
  scoll::task<scoll::status> write_line(std::string line);
  /// Returns when the other side has closed its end, or `cancelled`.
  scoll::task<scoll::status> hung_up(scoll::stop_token stop);

  scoll::transport::unique_fd release() noexcept { return std::move(fd_); }

 private:
  scoll::transport::reactor& engine_;
  scoll::transport::unique_fd fd_;
  std::string pending_;
  std::array<std::byte, 16384> received_;
};

}  // namespace shard
