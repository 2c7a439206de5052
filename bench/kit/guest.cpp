#include "guest.hpp"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <stdexcept>

#include "sockets.hpp"

namespace bench {
namespace {

/// Returns a socket after `call` (bind or connect) with the abstract address.
template <class Call>
unique_fd join_address(const std::string& name, int flags, Call call, const char* what) {
  unique_fd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0));
  if (!fd) fail("socket");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::copy_n(name.begin(), length, address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  if (call(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) fail(what);
  return fd;
}

unique_fd ask_for_orders(const std::string& invitation) {
  return join_address(invitation, 0, ::connect, "joining the group");
}

}  // namespace

unique_fd listen_for_guests(const std::string& invitation) {
  constexpr int backlog = 1024;
  unique_fd fd = join_address(invitation, SOCK_NONBLOCK, ::bind, "bind");
  if (listen(fd.get(), backlog) != 0) fail("listen");
  return fd;
}

unique_fd next_guest(int listener) {
  unique_fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd && errno != EAGAIN) fail("accept");
  return fd;
}

guest::guest(const std::string& invitation, std::uint32_t index, const std::string& name, bool obeys)
    : memory_(invitation),
      orders_(obeys ? ask_for_orders(invitation) : unique_fd()),
      self_(index, memory_.pages(), memory_.report(), orders_.get()) {
  constexpr int tries = 20'000;
  if (index >= self_.count()) throw std::runtime_error("the group has no place for this process");
  prctl(PR_SET_NAME, name.c_str());
  std::signal(SIGINT, SIG_IGN);
  alarm(longest_life_s);
  self_.page().pid = getpid();
  for (int i = 0; self_.page().counted == 0; ++i) {
    if (i == tries) throw std::runtime_error("nobody measures this process");
    usleep(1000);
  }
}

}  // namespace bench
