#include <fcntl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "transport/io/poll_reactor.hpp"

namespace scoll::transport {
namespace {

// The share of one socket in one turn, so that the others get theirs.
constexpr int accept_budget = 64;
constexpr int receive_budget = 16;
constexpr int datagram_budget = 4;  // batches

/// True if the stream may have ended: the end may have been reported together with the last bytes, and is not
/// reported again.
bool may_have_ended(const detail::io_slot& s) noexcept {
  return (static_cast<std::uint32_t>(s.result) & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
}

/// Makes a descriptor non-blocking. Returns the flags to restore; 0 if nothing was changed.
std::uint32_t unblock(int fd) noexcept {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) != 0) return 0;
  return ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? static_cast<std::uint32_t>(flags) : 0;
}

/// Read what a pipe or the like has, and write what it takes, without waiting. Descriptors that do not
/// support that are taken to be ready, as far as epoll has said so.
ssize_t read_stream(const detail::io_slot& s) noexcept {
  const iovec into{s.second, s.length};
  const ssize_t got = ::preadv2(s.fd, &into, 1, -1, RWF_NOWAIT);
  return got >= 0 || errno != EOPNOTSUPP ? got : ::read(s.fd, s.second, s.length);
}
ssize_t write_stream(const detail::io_slot& s) noexcept {
  const iovec from{const_cast<void*>(s.address), s.length};
  const ssize_t put = ::pwritev2(s.fd, &from, 1, -1, RWF_NOWAIT);
  return put >= 0 || errno != EOPNOTSUPP ? put : ::write(s.fd, s.address, s.length);
}

}  // namespace

void poll_reactor::attempt(slot& s) noexcept {
  switch (s.kind) {
    case opcode::accept: return accept_some(s);
    case opcode::receive_multishot: return receive_some(s);
    case opcode::receive_datagrams: return receive_datagrams_some(s);
    case opcode::poll: return conclude(s, s.result);
    case opcode::connect: return connect_some(s);
    case opcode::close: return close_now(s);
    default: break;
  }
  ++statistics_.enters;
  switch (s.kind) {
    case opcode::receive: return settle(s, ::recv(s.fd, s.second, s.length, MSG_DONTWAIT));
    case opcode::send: return settle(s, ::send(s.fd, s.address, s.length, MSG_DONTWAIT | MSG_NOSIGNAL));
    case opcode::send_message:
      return settle(s, ::sendmsg(s.fd, static_cast<const msghdr*>(s.address), MSG_DONTWAIT | MSG_NOSIGNAL));
    case opcode::read: return settle(s, read_stream(s));
    case opcode::write: return settle(s, write_stream(s));
    default: return conclude(s, -EOPNOTSUPP);
  }
}

/// Handles the outcome of the system call that was just made.
void poll_reactor::settle(slot& s, ssize_t outcome) noexcept {
  if (outcome >= 0) return conclude(s, static_cast<std::int32_t>(outcome));
  const int failed = errno;
  if (failed == EAGAIN) return wait_for(s, false);
  if (failed == EINTR) return attempt(s);
  conclude(s, -failed);
}

void poll_reactor::close_now(slot& s) noexcept {
  drop_pending(s.fd);
  ++statistics_.enters;
  conclude(s, ::close(s.fd) == 0 ? 0 : -errno);
}

/// Begins to connect; when called again, connect says how it went. It is the one call without a flag that
/// keeps it from waiting, so the socket is made non-blocking for its duration.
void poll_reactor::connect_some(slot& s) noexcept {
  const bool begun = std::exchange(s.polled, true);
  if (!begun) s.mode = unblock(s.fd);
  const int outcome = ::connect(s.fd, static_cast<const sockaddr*>(s.address), s.length);
  const int failed = outcome == 0 || (begun && errno == EISCONN) ? 0 : errno;
  statistics_.enters += begun ? 1 : 3;
  if (failed == EINPROGRESS || failed == EALREADY || failed == EINTR) return wait_for(s, false);
  if (s.mode != 0) {
    ++statistics_.enters;
    static_cast<void>(::fcntl(s.fd, F_SETFL, static_cast<int>(s.mode)));
  }
  conclude(s, -failed);
}

void poll_reactor::accept_some(slot& s) noexcept {
  if (!std::exchange(s.polled, true)) {
    statistics_.enters += 2;
    unblock(s.fd);
  }
  for (int budget = accept_budget; budget != 0; --budget) {
    ++statistics_.enters;
    const int fd = ::accept4(s.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) {
      deliver_more(s, {fd, true, nullptr});
      if (s.where != place::submitted) return;  // the callback has cancelled it
    } else if (errno == EAGAIN) {
      return wait_for(s, false);
    } else if (errno != ECONNABORTED && errno != EINTR) {  // else the peer left before it was accepted
      return conclude(s, -errno);
    }
  }
  believe_ready(s);
}

void poll_reactor::receive_some(slot& s) noexcept {
  for (int budget = receive_budget; budget != 0; --budget) {
    buffer_ref buffer = streams_.buffers.try_acquire();
    if (!buffer) return pause(s);
    const std::size_t room = buffer.capacity();
    ++statistics_.enters;
    const ssize_t got = ::recv(s.fd, buffer.data(), room, MSG_DONTWAIT);
    if (got <= 0) return settle(s, got);
    deliver_more(s, {static_cast<std::int32_t>(got), true, &buffer});
    if (s.where != place::submitted) return;
    if (static_cast<std::size_t>(got) < room && !may_have_ended(s)) return wait_for(s, false);
  }
  believe_ready(s);
}

void poll_reactor::receive_datagrams_some(slot& s) noexcept {
  auto& pool = static_cast<poll_datagram_buffers&>(pool_of(s));
  for (int budget = datagram_budget; budget != 0; --budget) {
    if (!pool.take_buffers()) return pause(s);
    const std::size_t room = pool.taken();
    ++statistics_.enters;
    const int got = pool.receive(s.fd);
    if (got < 0) {
      pool.give_back();
      return settle(s, got);
    }
    deliver_datagrams(s, pool, static_cast<std::size_t>(got));
    if (s.where != place::submitted) return;
    if (static_cast<std::size_t>(got) < room && !may_have_ended(s)) return wait_for(s, false);
  }
  believe_ready(s);
}

/// Delivers all datagrams, even if the first one's callback cancels: they have been received.
void poll_reactor::deliver_datagrams(slot& s, poll_datagram_buffers& from, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    const received_datagram d = from.view(i);
    deliver_more(s, {static_cast<std::int32_t>(d.bytes.size()), true, &from.buffer(i), &d});
  }
  from.give_back();
}

void poll_reactor::deliver_more(slot& s, const io_completion::event& event) noexcept {
  ++statistics_.completions;
  deliver(*s.owner, event);
}

}  // namespace scoll::transport
