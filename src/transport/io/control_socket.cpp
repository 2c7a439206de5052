#include "transport/io/control_socket.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "scoll/coro/error_format.hpp"
#include "transport/io/control_address.hpp"
#include "transport/io/io_awaitables.hpp"

namespace scoll::transport {
namespace {

bool someone_listens(const sockaddr_un& address) {
  const unique_fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// The permissions of the socket's file keep others out; this holds even if somebody has widened them.
status check_user(int fd) noexcept {
  ucred there{};
  socklen_t size = sizeof there;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &there, &size) != 0)
    return error::system(errno, "credentials of a control connection");
  if (there.uid == ::geteuid() || there.uid == 0) return {};
  return make_error(errc::not_authorised, "process {} of user {} is not of the user of this process",
                    there.pid, there.uid);
}

}  // namespace

result<unique_fd> open_control_socket(const std::string& path) {
  constexpr int waiting = 64;
  const auto address = control_address(path);
  if (!address) return address.error();
  if (someone_listens(*address)) return make_error(errc::busy, "another process listens on {}", path);
  ::unlink(path.c_str());
  unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return error::system(errno, "socket");
  const mode_t before = ::umask(0177);
  const int bound = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address);
  ::umask(before);
  if (bound != 0 || ::listen(fd.get(), waiting) != 0) return error::system(errno, "listen on " + path);
  return fd;
}

task<result<std::string>> control_connection::read_line(stop_token stop) {
  if (!known_) {
    if (const status s = check_user(fd_.get()); !s) co_return s.error();
    known_ = true;
  }
  for (std::size_t searched = 0;;) {
    if (const std::size_t end = pending_.find('\n', searched); end != std::string::npos) {
      std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      co_return line;
    }
    if (pending_.size() > longest_line)
      co_return make_error(errc::too_large, "a line of more than {} bytes", longest_line);
    searched = pending_.size();
    const auto n = co_await async_receive(loop_, fd_.get(), received_, stop);
    if (!n) co_return n.error();
    if (*n == 0) co_return error(errc::closed, "the client has closed the connection");
    pending_.append(reinterpret_cast<const char*>(received_.data()), *n);
  }
}

task<status> control_connection::write_line(std::string line, stop_token stop) {
  line += '\n';
  co_return co_await async_send_all(loop_, fd_.get(), std::as_bytes(std::span(line)), stop);
}

task<status> control_connection::hung_up(stop_token stop) {
  const auto seen = co_await async_poll(loop_, fd_.get(), POLLRDHUP, stop);
  if (!seen) co_return seen.error();
  co_return status{};
}

}  // namespace scoll::transport
