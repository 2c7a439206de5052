#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "transport/io/socket.hpp"

namespace scoll::transport {

/// The client's end of a control socket (`open_control_socket`). All calls block; each wait is limited in
/// time.
class control_client {
 public:
  using milliseconds = std::chrono::milliseconds;

  /// Connects to a control socket. The result is empty if no process listens there.
  static std::optional<control_client> connect(const std::string& socket);

  /// Sends one line. False if the server has gone.
  bool send_line(std::string line);
  /// Gives the next line, without its newline. The result is empty at the end of the connection, and if no
  /// line came within `limit`.
  std::optional<std::string> read_line(milliseconds limit);
  /// Waits until the server has closed its end. False if it did not within `limit`.
  bool wait_for_end(milliseconds limit);

 private:
  explicit control_client(unique_fd fd) : fd_(std::move(fd)) {}
  bool wait_readable(milliseconds limit) const;
  /// Appends what has arrived to `pending_`; false at the end of the connection.
  bool receive();

  unique_fd fd_;
  std::string pending_;
};

}  // namespace scoll::transport
