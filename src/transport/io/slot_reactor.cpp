#include "transport/io/slot_reactor.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <thread>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {
namespace {

time_point read_clock() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return time_point(std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec));
}

}  // namespace

slot_reactor::slot_reactor() noexcept
    : workers_(
          *this, [](void* self, slot& s) noexcept { static_cast<slot_reactor*>(self)->returned(s); }, this) {}

status slot_reactor::open_wakeups() {
  wake_fd_ = unique_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_fd_) return error::system(errno, "eventfd");
  return {};
}

void slot_reactor::end_threads() noexcept {
  SCOLL_ASSERT(outstanding_ == 0, "a reactor died with operations pending");
  workers_.join();
  // A posted node may be the reason why this reactor ends, and may have run before `post` has returned.
  while (posting_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

time_point slot_reactor::exact_now() const noexcept {
  return read_clock();
}

void slot_reactor::give_way() noexcept {
  flush_io();
  std::this_thread::yield();
}

void slot_reactor::read_time() noexcept {
  now_ = read_clock();
}

time_point slot_reactor::next_turn(nanoseconds longest_wait) const noexcept {
  if (longest_wait.count() <= 0 || stopped_ || has_ready()) return time_point{};
  if (longest_wait == nanoseconds::max()) return next_timer();
  return std::min(next_timer(), saturating_add(read_clock(), longest_wait));
}

nanoseconds slot_reactor::time_until(time_point due) noexcept {
  return std::max(due - read_clock(), nanoseconds::zero());
}

// The time of the turn is outdated by now. A timer must not be late by the duration of the turn.
nanoseconds slot_reactor::permitted_wait(nanoseconds longest) const noexcept {
  const time_point due = next_turn(longest);
  return due == never ? nanoseconds::max() : time_until(due);
}

void slot_reactor::post(posted_node& node) noexcept {
  posting_.fetch_add(1, std::memory_order_relaxed);
  if (inbox_.push(node)) wake();
  posting_.fetch_sub(1, std::memory_order_release);
}

void slot_reactor::wake() noexcept {
  const std::uint64_t one = 1;
  // The write fails only if the counter is full, and that wakes too.
  static_cast<void>(!::write(wake_fd_.get(), &one, sizeof one));
}

slot_reactor::slot& slot_reactor::begin(io_completion& done, opcode kind, int fd) noexcept {
  mark_pending(done);
  ++outstanding_;
  slot& s = slot_of(done);
  s.kind = kind;
  s.fd = fd;
  s.cancelling = false;
  s.polled = s.lazy = s.silent = s.patient = false;
  return s;
}

void slot_reactor::begin_pooled(io_completion& done, opcode kind, int fd, receive_buffers& from) noexcept {
  slot& s = begin(done, kind, fd);
  s.second = &from;
  hand_over(s);
}

void slot_reactor::hand_to_thread(slot& s) noexcept {
  ++statistics_.enters;
  ++statistics_.submissions;
  if (const int failed = workers_.submit(s); failed != 0) end(s, -failed);
}

void slot_reactor::end(slot& s, std::int32_t outcome) noexcept {
  s.where = place::ended;
  s.result = outcome;
  ended_.push_back(s);
  if (!finish_ended_.scheduled()) schedule(finish_ended_);
}

void slot_reactor::finish_ended() noexcept {
  while (!ended_.empty()) {
    slot& s = ended_.pop_front();
    finish(s, s.result);
  }
}

void slot_reactor::finish(slot& s, std::int32_t outcome) noexcept {
  s.where = place::nowhere;
  s.buffer.reset();
  if (s.kind == opcode::receive_datagrams) pool_of(s).receiving = false;
  --outstanding_;
  deliver(*s.owner, {outcome, false, nullptr});
}

}  // namespace scoll::transport
