#pragma once

#include <sys/epoll.h>

#include <array>
#include <cstdint>
#include <deque>
#include <span>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {

/// What epoll is asked to watch: each descriptor once, for all that its operations wait for, and by the edge:
/// a registration stays when what it told of has been dealt with, so that messages cost no further call.
///
/// A descriptor may be closed and its number given to another without anybody saying so here, but not while
/// an operation is pending on it: only then what is noted of it is believed.
class poll_interests {
 public:
  struct watch {
    intrusive_list<detail::io_slot> waiting;
    std::uint32_t pending = 0;     // operations, waiting or not
    std::uint32_t registered = 0;  // with the kernel, if that is certain
    bool certain = false;
    std::uint64_t asked = 0;  // the number of the wait before which the kernel last looked
  };

  /// System calls are added to `calls`.
  explicit poll_interests(std::uint64_t& calls) noexcept : calls_(calls) {}
  poll_interests(const poll_interests&) = delete;
  poll_interests& operator=(const poll_interests&) = delete;

  scoll::status open();
  int descriptor() const noexcept { return epoll_.get(); }

  /// An operation on `fd`, which is not negative, begins or ends.
  void enter(int fd);
  void leave(int fd) noexcept;
  watch& of(int fd) noexcept { return watches_[static_cast<std::size_t>(fd)]; }
  /// Null if it was never entered.
  watch* find(int fd) noexcept;

  /// Has the kernel tell of `events`, of those that are there already if `anew`: else only of what comes. 0,
  /// or an errno.
  int ask(int fd, std::uint32_t events, bool anew) noexcept;
  /// Has the kernel tell of `events` alone from now on.
  void narrow(int fd, std::uint32_t events) noexcept;
  /// The descriptor is about to be closed.
  void forget(int fd) noexcept;
  /// What can be written to from any thread to end a wait.
  int watch_wakeups(int event_fd) noexcept;

  /// What has happened, valid until the next call; at most so long, and without limit for `max()`. Not more
  /// than fits: the rest is there the next time.
  std::span<const epoll_event> wait(nanoseconds longest) noexcept;

 private:
  int control(int action, int fd, std::uint32_t events) noexcept;
  int wait_precisely(nanoseconds longest) noexcept;

  std::uint64_t& calls_;
  unique_fd epoll_;
  std::deque<watch> watches_;  // by descriptor
  std::uint64_t waits_ = 1;
  bool coarse_ = false;  // the kernel counts milliseconds
  std::array<epoll_event, 256> events_{};
};

}  // namespace scoll::transport
