#include "transport/io/control_client.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "transport/io/control_address.hpp"

namespace scoll::transport {

std::optional<control_client> control_client::connect(const std::string& socket) {
  const auto address = control_address(socket);
  if (!address) return std::nullopt;
  unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0)
    return std::nullopt;
  return control_client(std::move(fd));
}

bool control_client::send_line(std::string line) {
  line += '\n';
  for (std::size_t sent = 0; sent != line.size();) {
    const ssize_t n = ::send(fd_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) return false;
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

bool control_client::wait_readable(milliseconds limit) const {
  pollfd wanted{fd_.get(), POLLIN, 0};
  return ::poll(&wanted, 1, static_cast<int>(limit.count())) == 1;
}

bool control_client::receive() {
  std::array<char, 65536> bytes;
  const ssize_t n = ::recv(fd_.get(), bytes.data(), bytes.size(), 0);
  if (n > 0) pending_.append(bytes.data(), static_cast<std::size_t>(n));
  return n > 0;
}

std::optional<std::string> control_client::read_line(milliseconds limit) {
  std::size_t searched = 0;
  for (;;) {
    if (const std::size_t end = pending_.find('\n', searched); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      return line;
    }
    searched = pending_.size();
    if (!wait_readable(limit) || !receive()) return std::nullopt;
  }
}

bool control_client::wait_for_end(milliseconds limit) {
  while (wait_readable(limit)) {
    if (!receive()) return true;
  }
  return false;
}

}  // namespace scoll::transport
