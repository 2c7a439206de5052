#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "transport/socket.hpp"

namespace shard {

/// The client's end of a control socket: blocking, each wait with a limit.
class control_client {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Nothing if nobody listens there.
  static std::optional<control_client> connect(const std::filesystem::path& socket);

  /// False if the server has gone.
  bool send_line(std::string line);
  /// A line without its newline; nothing at the end of the connection, or if none came in time.
  std::optional<std::string> read_line(milliseconds limit);
  /// Waits until the server has closed its end: false if it did not in time.
  bool wait_for_end(milliseconds limit);

 private:
  explicit control_client(scoll::transport::unique_fd fd) : fd_(std::move(fd)) {}
  bool wait_readable(milliseconds limit) const;
  /// What has arrived goes to the end of `pending_`; false at the end.
  bool receive();

  scoll::transport::unique_fd fd_;
  std::string pending_;
};

}  // namespace shard
