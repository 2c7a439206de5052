#include "transport/io/poll_interests.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <ctime>

namespace scoll::transport {

status poll_interests::open() {
  epoll_ = unique_fd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return error::system(errno, "epoll_create1");
  return {};
}

void poll_interests::enter(int fd) {
  const auto at = static_cast<std::size_t>(fd);
  while (watches_.size() <= at) watches_.emplace_back();
  ++watches_[at].pending;
}

void poll_interests::leave(int fd) noexcept {
  watch& w = of(fd);
  if (--w.pending == 0) w.certain = false;
}

poll_interests::watch* poll_interests::find(int fd) noexcept {
  return fd >= 0 && static_cast<std::size_t>(fd) < watches_.size() ? &of(fd) : nullptr;
}

int poll_interests::ask(int fd, std::uint32_t events, bool anew) noexcept {
  watch& w = of(fd);
  const bool covered = w.certain && (w.registered & events) == events;
  if (covered && (!anew || w.asked == waits_)) return 0;
  const std::uint32_t wanted = w.certain ? w.registered | events : events;
  // A change makes the kernel check the present state, whatever is registered under this number.
  int failed = control(w.registered == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, wanted);
  if (failed == ENOENT) failed = control(EPOLL_CTL_ADD, fd, wanted);
  if (failed == EEXIST) failed = control(EPOLL_CTL_MOD, fd, wanted);
  if (failed != 0) return failed;
  w.registered = wanted;
  w.certain = true;
  w.asked = waits_;
  return 0;
}

void poll_interests::narrow(int fd, std::uint32_t events) noexcept {
  watch& w = of(fd);
  if (!w.certain || w.registered == events || control(EPOLL_CTL_MOD, fd, events) != 0) return;
  w.registered = events;
}

void poll_interests::forget(int fd) noexcept {
  watch* const w = find(fd);
  if (w == nullptr || w->registered == 0) return;
  // Closing would suffice, unless the descriptor has a duplicate.
  if (w->certain) control(EPOLL_CTL_DEL, fd, 0);
  w->registered = 0;
  w->certain = false;
}

// Every write to it is an edge, so its counter is never read.
int poll_interests::watch_wakeups(int event_fd) noexcept {
  return control(EPOLL_CTL_ADD, event_fd, EPOLLIN);
}

int poll_interests::control(int action, int fd, std::uint32_t events) noexcept {
  epoll_event e{};
  e.events = events | EPOLLET;
  e.data.fd = fd;
  ++calls_;
  return epoll_ctl(epoll_.get(), action, fd, &e) == 0 ? 0 : errno;
}

std::span<const epoll_event> poll_interests::wait(nanoseconds longest) noexcept {
  ++waits_;
  const int count = wait_precisely(longest);
  SCOLL_ASSERT(count >= 0 || errno == EINTR, "epoll_wait failed");
  return {events_.data(), static_cast<std::size_t>(std::max(count, 0))};
}

int poll_interests::wait_precisely(nanoseconds longest) noexcept {
  const int most = static_cast<int>(events_.size());
  const bool timed = longest != nanoseconds::max() && longest.count() > 0;
#ifdef SYS_epoll_pwait2
  if (timed && !coarse_) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(longest);
    const timespec limit{seconds.count(), (longest - seconds).count()};
    ++calls_;
    const long count = ::syscall(SYS_epoll_pwait2, epoll_.get(), events_.data(), most, &limit, nullptr, 0);
    // Kernels before 5.11 do not know this call, and system call filters that do not know it forbid it.
    if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return static_cast<int>(count);
    coarse_ = true;
  }
#endif
  const auto rounded = std::chrono::ceil<std::chrono::milliseconds>(longest).count();
  const int limit_ms = timed                 ? static_cast<int>(std::min<std::int64_t>(rounded, INT_MAX))
                       : longest.count() > 0 ? -1
                                             : 0;
  ++calls_;
  return epoll_wait(epoll_.get(), events_.data(), most, limit_ms);
}

}  // namespace scoll::transport
