#include "control_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "coro/error_format.hpp"
#include "transport/io_awaitables.hpp"

namespace shard {
namespace {

using scoll::errc;
using scoll::transport::unique_fd;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

bool someone_listens(const sockaddr_un& address) {
  const unique_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

}  // namespace

scoll::result<unique_fd> open_control_socket(const std::filesystem::path& path) {
  constexpr int waiting = 64;
  const sockaddr_un address = address_of(path);
  if (someone_listens(address))
    return scoll::make_error(errc::busy, "another server listens on {}", path.string());
  ::unlink(path.c_str());
  unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return scoll::error::system(errno, "socket");
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  ::umask(before);
  if (bound != 0 || ::listen(fd.get(), waiting) != 0)
    return scoll::error::system(errno, "listen on " + path.string());
  return fd;
}

scoll::task<scoll::result<std::string>> control_connection::read_line(scoll::stop_token stop) {
  for (std::size_t searched = 0;;) {
    if (const std::size_t end = pending_.find('\n', searched); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      co_return line;
    }
    if (pending_.size() > longest_line)
      co_return scoll::make_error(errc::too_large, "a line of more than {} bytes", longest_line);
    searched = pending_.size();
    const auto n = co_await scoll::transport::async_receive(engine_, fd_.get(), received_, stop);
    if (!n) co_return n.error();
    if (*n == 0) co_return scoll::error(errc::closed, "the client has closed the connection");
    pending_.append(reinterpret_cast<const char*>(received_.data()), *n);
  }
}

scoll::task<scoll::status> control_connection::write_line(std::string line) {
  line += '\n';
  co_return co_await scoll::transport::async_send_all(engine_, fd_.get(), std::as_bytes(std::span(line)));
}

scoll::task<scoll::status> control_connection::hung_up(scoll::stop_token stop) {
  const auto seen = co_await scoll::transport::async_poll(engine_, fd_.get(), POLLRDHUP, stop);
  if (!seen) co_return seen.error();
  co_return scoll::status{};
}

}  // namespace shard
