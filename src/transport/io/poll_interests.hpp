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

/// The descriptors that epoll watches: each one once, for all events that its operations wait for, and
/// edge-triggered. A registration stays after its events have been handled, so that messages cost no further
/// call.
///
/// A descriptor may be closed, and its number given to another file, without notice to this object; but not
/// while an operation is pending on it. So the record of a descriptor is trusted only then.
class poll_interests {
 public:
  struct watch {
    intrusive_list<detail::io_slot> waiting;
    std::uint32_t pending = 0;     // operations, waiting or not
    std::uint32_t registered = 0;  // events registered with the kernel, if `certain`
    bool certain = false;
    std::uint64_t asked = 0;  // the number of the wait before which the kernel last checked
  };

  /// System calls are added to `calls`.
  explicit poll_interests(std::uint64_t& calls) noexcept : calls_(calls) {}
  poll_interests(const poll_interests&) = delete;
  poll_interests& operator=(const poll_interests&) = delete;

  status open();
  int descriptor() const noexcept { return epoll_.get(); }

  /// An operation on `fd`, which must not be negative, begins or ends.
  void enter(int fd);
  void leave(int fd) noexcept;
  watch& of(int fd) noexcept { return watches_[static_cast<std::size_t>(fd)]; }
  /// The record of a descriptor; null if it was never entered.
  watch* find(int fd) noexcept;

  /// Asks the kernel to report `events`: those that are there already too if `anew`, otherwise only new ones.
  /// The result is 0 or an errno.
  int ask(int fd, std::uint32_t events, bool anew) noexcept;
  /// Restricts the kernel's reports to `events` from now on.
  void narrow(int fd, std::uint32_t events) noexcept;
  /// The descriptor is about to be closed.
  void forget(int fd) noexcept;
  /// Watches an event descriptor to which any thread can write to end a wait. The result is 0 or an errno.
  int watch_wakeups(int event_fd) noexcept;

  /// Waits at most `longest`, without limit for `max()`. The result is the events that happened, valid until
  /// the next call. Events that do not fit are reported the next time.
  std::span<const epoll_event> wait(nanoseconds longest) noexcept;

 private:
  int control(int action, int fd, std::uint32_t events) noexcept;
  int wait_precisely(nanoseconds longest) noexcept;

  std::uint64_t& calls_;
  unique_fd epoll_;
  std::deque<watch> watches_;  // by descriptor
  std::uint64_t waits_ = 1;
  bool coarse_ = false;  // the kernel only knows waits in milliseconds
  std::array<epoll_event, 256> events_{};
};

}  // namespace scoll::transport
