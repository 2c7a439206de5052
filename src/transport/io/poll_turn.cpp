#include "transport/io/poll_reactor.hpp"

namespace scoll::transport {

bool poll_reactor::run_once(nanoseconds longest_wait) noexcept {
  const turn as_current(*this);
  ++statistics_.turns;
  start_queued();
  look(permitted_wait(longest_wait));
  read_time();
  bool ran = inbox_.run_all();
  ran = try_ready() || ran;
  ran = run_ready(ready_budget) != 0 || ran;
  resume_receive_pools();
  tells_only_ = false;
  if (!running_ || stopped_) {
    // The host may now wait on its descriptor, so the kernel must know all operations and posts must wake it.
    start_queued();
    if (!inbox_.fall_asleep() || !ready_.empty()) {
      ++statistics_.enters;
      wake();
    }
  }
  return ran;
}

/// Asks the kernel for events. If nothing is pending there is nothing to ask. A turn that only delivers what
/// it has just sent need not ask if the one before did. But events that have not been fetched keep a host's
/// descriptor readable.
void poll_reactor::look(nanoseconds wait) noexcept {
  if (!ready_.empty()) wait = nanoseconds::zero();
  const bool sleeps = wait.count() > 0 && inbox_.fall_asleep();
  const bool blind = outstanding_ == 0 || (tells_only_ && looked_);
  looked_ = sleeps || hosted_ || !blind;
  if (looked_) {
    for (const epoll_event& e : interests_.wait(sleeps ? wait : nanoseconds::zero())) {
      if (e.data.fd != wake_fd_.get()) collect(e);
    }
  }
  inbox_.awake();
}

/// Takes the operations that an event concerns off the list of their descriptor.
void poll_reactor::collect(const epoll_event& e) noexcept {
  poll_interests::watch& w = interests_.of(e.data.fd);
  std::uint32_t missed = 0;
  bool met = false;
  for (slot* s = w.waiting.first(); s != nullptr;) {
    slot* const next = w.waiting.next(*s);
    const std::uint32_t wanted = events_for(*s);
    if ((e.events & (wanted | EPOLLERR | EPOLLHUP)) != 0) {
      s->unlink();
      s->result = static_cast<std::int32_t>(e.events & (wanted | EPOLLERR | EPOLLHUP));
      ready_.push_back(*s);
      met = true;
    } else {
      missed |= wanted;
    }
    s = next;
  }
  // For example, every datagram that leaves makes room that no operation waits for any more.
  if (!met && missed != 0) interests_.narrow(e.data.fd, missed);
}

/// Attempts the operations that are believed to be ready now. The ones that do not finish come later.
bool poll_reactor::try_ready() noexcept {
  if (ready_.empty()) return false;
  trying_.splice(ready_);
  while (!trying_.empty()) attempt(trying_.pop_front());
  return true;
}

void poll_reactor::resume_receive_pools() noexcept {
  for (receive_buffers* p = pools_.first(); p != nullptr; p = pools_.next(*p)) {
    if (p->paused_count != 0 && !p->dry) p->resume_soon();
  }
}

}  // namespace scoll::transport
