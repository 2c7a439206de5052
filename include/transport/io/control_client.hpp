#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "transport/io/socket.hpp"

namespace scoll::transport {

/// The client's end of a control socket (`open_control_socket`): blocking, each wait with a limit.
class control_client {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Nothing if nobody listens there.
  static std::optional<control_client> connect(const std::string& socket);

  /// False if the server has gone.
  bool send_line(std::string line);
  /// A line without its newline; nothing at the end of the connection, or if none came in time.
  std::optional<std::string> read_line(milliseconds limit);
  /// Waits until the server has closed its end: false if it did not in time.
  bool wait_for_end(milliseconds limit);

 private:
  explicit control_client(unique_fd fd) : fd_(std::move(fd)) {}
  bool wait_readable(milliseconds limit) const;
  /// What has arrived goes to the end of `pending_`; false at the end.
  bool receive();

  unique_fd fd_;
  std::string pending_;
};

}  // namespace scoll::transport
