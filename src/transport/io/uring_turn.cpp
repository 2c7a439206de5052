#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "transport/io/uring_reactor.hpp"

namespace scoll::transport {
namespace {

// How long the completion of a deferred send may be delayed.
constexpr nanoseconds lazy_limit = std::chrono::milliseconds(20);

// The values of user_data that are not slots, which are aligned.
constexpr std::uint64_t cancel_tag = 0;
constexpr std::uint64_t wake_tag = 1;
constexpr std::uint64_t alarm_tag = 2;

}  // namespace

struct uring_reactor::arrival {
  std::uint64_t user_data;
  std::int32_t outcome;
  std::uint32_t flags;

  bool more() const noexcept { return (flags & IORING_CQE_F_MORE) != 0; }
};

bool uring_reactor::run_once(nanoseconds longest_wait) noexcept {
  const turn as_current(*this);
  ++statistics_.turns;
  enter(next_turn(longest_wait));
  read_time();
  bool ran = inbox_.run_all();
  ran = dispatch_completions() || ran;
  ran = run_ready(ready_budget) != 0 || ran;
  resume_receive_pools();
  if (!running_ || stopped_) {
    // The host may now wait on its descriptor, so the kernel must know all operations and posts must wake it.
    submit_rest();
    if (complete_sent()) {
      ran = true;
      submit_rest();
      if (!sent_.empty()) wake();
    }
    if (!inbox_.fall_asleep()) wake();
    if (host_fd_) tell_host();
  }
  return ran;
}

void uring_reactor::enter(time_point due) noexcept {
  move_queued();
  while (!queued_.empty() && submit()) move_queued();
  const bool at_once = due <= now() || io_uring_cq_ready(&ring()) != 0 || !queued_.empty() ||
                       !wakeups_watched_ || awaited(silent_) || awaited(sent_);
  if (!at_once && set_alarm(due) && inbox_.fall_asleep()) {
    const std::uint32_t prepared = io_uring_sq_ready(&ring());
    entered(io_uring_submit_and_wait(&ring(), 1), prepared);
  } else if (io_uring_sq_ready(&ring()) != 0 || kernel_has_events()) {
    submit();
  }
  inbox_.awake();
}

bool uring_reactor::awaited(intrusive_list<slot>& sends) noexcept {
  for (slot* s = sends.first(); s != nullptr; s = sends.next(*s)) {
    if (!s->lazy || s->cancelling) return true;
  }
  return false;
}

/// Has the kernel wake us at `due` or before. A timer that is early enough is left alone, so that a deadline
/// that comes and goes with every message does not cost one of the kernel's each time.
bool uring_reactor::set_alarm(time_point due) noexcept {
  if (!silent_.empty() || !sent_.empty()) due = std::min(due, now() + lazy_limit);
  if (due >= alarm_) return true;
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring());
  if (sqe == nullptr) return false;
  // The timer is relative, because in a time namespace the ring's clock is not ours.
  constexpr std::int64_t second = 1'000'000'000;
  const std::int64_t left = time_until(due).count();
  alarm_spec_ = {left / second, left % second};
  if (alarm_ == never) {
    io_uring_prep_timeout(sqe, &alarm_spec_, 0, 0);
    io_uring_sqe_set_data64(sqe, alarm_tag);
  } else {
    io_uring_prep_timeout_update(sqe, &alarm_spec_, alarm_tag, 0);
    if (ring_.skips_success_events()) sqe->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(sqe, cancel_tag);
  }
  alarm_ = due;
  return true;
}

bool uring_reactor::submit() noexcept {
  const std::uint32_t prepared = io_uring_sq_ready(&ring());
  entered(io_uring_submit_and_get_events(&ring()), prepared);
  return io_uring_sq_ready(&ring()) < prepared;
}

void uring_reactor::submit_rest() noexcept {
  move_queued();
  while (io_uring_sq_ready(&ring()) != 0) {
    if (!submit()) return wake();  // the kernel is short of memory: come back soon
    move_queued();
  }
}

void uring_reactor::entered(int outcome, std::uint32_t prepared) noexcept {
  ++statistics_.enters;
  const std::uint32_t left = io_uring_sq_ready(&ring());
  statistics_.submissions += prepared - left;
  if (left == 0) sent_.splice(silent_);
  if (outcome >= 0) return;
  SCOLL_ASSERT(outcome != -EEXIST, "a reactor was driven by another thread than the one that created it");
  // The wait timed out, a signal came, or memory is short for now. The next turn tries again, and nothing is
  // lost meanwhile.
  SCOLL_ASSERT(
      outcome == -ETIME || outcome == -EINTR || outcome == -EAGAIN || outcome == -EBUSY || outcome == -ENOMEM,
      "io_uring_enter failed");
}

std::uint32_t uring_reactor::kernel_flags() noexcept {
  return __atomic_load_n(ring().sq.kflags, __ATOMIC_ACQUIRE);
}

bool uring_reactor::kernel_has_events() noexcept {
  return (kernel_flags() & (IORING_SQ_CQ_OVERFLOW | IORING_SQ_TASKRUN)) != 0;
}

void uring_reactor::wake() noexcept {
  slot_reactor::wake();
  const std::uint64_t one = 1;
  // Kernels report a completion caused by one eventfd to a second eventfd late or not at all, so the host's
  // eventfd is written too, and last: a host's turn that takes it back then sees the other one.
  if (const int host = host_wake_.load(std::memory_order_acquire); host >= 0)
    static_cast<void>(!::write(host, &one, sizeof one));
}

/// Resets the host's descriptor, then reports what is there. Completions that arrive in between show in the
/// ring's flags.
void uring_reactor::tell_host() noexcept {
  std::uint64_t any = 0;
  static_cast<void>(!::read(host_fd_.get(), &any, sizeof any));
  any = 1;
  if (io_uring_cq_ready(&ring()) != 0 || kernel_has_events())
    static_cast<void>(!::write(host_fd_.get(), &any, sizeof any));
}

// Every write to the eventfd gives a completion, so its counter is never read.
void uring_reactor::watch_wakeups() noexcept {
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring());
  wakeups_watched_ = sqe != nullptr;
  if (sqe == nullptr) return;
  io_uring_prep_poll_multishot(sqe, wake_fd_.get(), POLLIN);
  io_uring_sqe_set_data64(sqe, wake_tag);
}

bool uring_reactor::dispatch_completions() noexcept {
  intrusive_list<slot> sent;
  if (failures_told()) sent.splice(sent_);
  // Dispatch only the completions that are there now: a submission that completes at once must not keep the
  // turn from ending.
  const std::uint32_t count = io_uring_cq_ready(&ring());
  bool ran = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    unsigned head = 0;
    io_uring_cqe* cqe = nullptr;
    io_uring_for_each_cqe(&ring(), head, cqe) break;
    const arrival event{cqe->user_data, cqe->res, cqe->flags};
    io_uring_cq_advance(&ring(), 1);
    ran = ran || event.user_data != alarm_tag;
    dispatch(event);
  }
  if (count != 0) settle_receive_pools();
  return complete(sent) || ran;
}

/// True if the failures of `sent_` have their completions in the queue. Otherwise some may wait behind a full
/// one.
bool uring_reactor::failures_told() noexcept {
  return (kernel_flags() & IORING_SQ_CQ_OVERFLOW) == 0;
}

bool uring_reactor::complete(intrusive_list<slot>& sent) noexcept {
  const bool any = !sent.empty();
  while (!sent.empty()) {
    ++statistics_.completions;
    slot& s = sent.pop_front();
    finish(s, static_cast<std::int32_t>(s.length));
  }
  return any;
}

/// Completes the silent sends of a turn that is not followed by another one.
bool uring_reactor::complete_sent() noexcept {
  if (!failures_told() || io_uring_cq_ready(&ring()) != 0) return false;
  intrusive_list<slot> sent;
  sent.splice(sent_);
  return complete(sent);
}

/// Provides the buffers again that were consumed in this turn.
void uring_reactor::settle_receive_pools() noexcept {
  for (uring_receive_pool* p = pools_.first(); p != nullptr; p = pools_.next(*p)) {
    if (!p->lends()) continue;
    p->ring.replenish();
    if (p->paused_count != 0) resume_paused(*p);
  }
}

void uring_reactor::resume_receive_pools() noexcept {
  for (uring_receive_pool* p = pools_.first(); p != nullptr; p = pools_.next(*p)) {
    if (p->paused_count != 0 && p->at_hand()) p->resume_soon();
  }
}

void uring_reactor::dispatch(const arrival& event) noexcept {
  if (event.user_data == cancel_tag) return;
  if (event.user_data == wake_tag) {
    wakeups_watched_ = wakeups_watched_ && event.more();
    return;
  }
  if (event.user_data == alarm_tag) {
    alarm_ = never;
    return;
  }
  ++statistics_.completions;
  slot& s = *reinterpret_cast<slot*>(static_cast<std::uintptr_t>(event.user_data));
  if (!event.more()) s.unlink();  // a cancel that found no room is too late
  switch (s.kind) {
    case opcode::accept: return dispatch_accept(s, event);
    case opcode::receive_multishot:
    case opcode::receive_datagrams: return dispatch_receive(s, event);
    case opcode::send: return dispatch_send(s, event);
    default: return finish(s, event.outcome);
  }
}

void uring_reactor::dispatch_accept(slot& s, const arrival& event) noexcept {
  // The peer was gone before it was accepted, which is no failure of the listener.
  const bool gone = event.outcome == -ECONNABORTED || event.outcome == -EINTR || event.outcome == -EAGAIN;
  if (event.outcome < 0 && !gone) return finish(s, event.outcome);
  if (!event.more()) hand_over_again(s);
  if (!gone) deliver(*s.owner, {event.outcome, true, nullptr});
}

void uring_reactor::dispatch_send(slot& s, const arrival& event) noexcept {
  if (event.outcome != -EAGAIN || !s.silent) return finish(s, event.outcome);
  s.patient = true;
  hand_over_again(s);
}

void uring_reactor::dispatch_receive(slot& s, const arrival& event) noexcept {
  if (!pool_of(s).lends()) return dispatch_emulated_receive(s, event.outcome);
  buffer_ref buffer;
  if ((event.flags & IORING_CQE_F_BUFFER) != 0)
    buffer = pool_of(s).ring.take(event.flags >> IORING_CQE_BUFFER_SHIFT);
  if (event.outcome > 0) {
    // The receive is armed again before the delivery, so that the waiter may cancel it from its callback.
    if (!event.more()) hand_over_again(s);
    return deliver_received(s, event.outcome, buffer);
  }
  if (event.outcome == -ENOBUFS) {
    pool_of(s).ring.want_more();
    return pause(s);
  }
  finish(s, event.outcome);
}

void uring_reactor::dispatch_emulated_receive(slot& s, std::int32_t outcome) noexcept {
  if (!s.polled) {
    if (outcome < 0) return finish(s, outcome);
    return s.cancelling ? end(s, -ECANCELED) : fill_receive_buffer(s);
  }
  buffer_ref buffer = std::move(s.buffer);
  s.polled = false;
  if (outcome == -EAGAIN || outcome == -EINTR) return hand_over_again(s);
  const bool datagram = s.kind == opcode::receive_datagrams;
  if (outcome < 0 || (outcome == 0 && !datagram)) return finish(s, outcome);
  if (datagram) datagrams_of(s).complete_single(buffer, outcome);
  hand_over_again(s);
  deliver_received(s, outcome, buffer);
}

void uring_reactor::deliver_received(slot& s, std::int32_t outcome, buffer_ref& buffer) noexcept {
  if (s.kind == opcode::receive_multishot) return deliver(*s.owner, {outcome, true, &buffer});
  const received_datagram d = datagrams_of(s).view(buffer);
  deliver(*s.owner, {static_cast<std::int32_t>(d.bytes.size()), true, &buffer, &d});
}

}  // namespace scoll::transport
