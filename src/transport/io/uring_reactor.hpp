#pragma once

#include <liburing.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/slot_reactor.hpp"
#include "transport/io/uring_probe.hpp"
#include "transport/io/uring_receive_pool.hpp"

namespace scoll::transport {

/// The reactor on io_uring. Where an operation is (`io_slot::place`):
///
/// ```text
///            room in the queue           last completion
///   start ───────────────────► submitted ───────────────► nowhere
///     │                        ▲   │   ▲                    ▲
///     │ queue full             │   │   │ buffers came back  │ from the ready list
///     ▼        next turn       │   ▼   │                    │
///   queued ────────────────────┘  paused                    │
///     │ cancel                     │ cancel                 │
///     └────────────────────────────┴──────► ended ──────────┘
/// ```
/// A listing is `elsewhere`, with a thread, until it has `ended`; it cannot be cancelled. A cancel of a
/// submitted operation that finds the queue full waits in the same list as the `queued` ones.
class uring_reactor final : public slot_reactor {
 public:
  static result<std::unique_ptr<reactor>> create(const reactor_options& options);
  ~uring_reactor() override;

  bool run_once(nanoseconds longest_wait) noexcept override;
  void flush_io() noexcept override { submit_rest(); }
  int pollable_fd() noexcept override;

  void receive_multishot(int fd, io_completion& done) noexcept override;
  void receive_datagrams(int fd, datagram_buffers& into, io_completion& done) noexcept override;
  void close_file(int fd, io_completion& done) noexcept override { close_socket(fd, done); }
  void abandon_file(int fd) noexcept override { unique_fd(fd).reset(); }

  void cancel(io_completion& done) noexcept override;

  buffer_pool& receive_pool() noexcept override { return streams_.buffers; }

  // For receive pools; those of datagram sockets come and go.
  void adopt(uring_datagram_buffers& pool) noexcept;
  void release(uring_datagram_buffers& pool) noexcept;
  void resume_paused(uring_receive_pool& pool) noexcept;

 private:
  struct arrival;

  explicit uring_reactor(const reactor_options& options);
  status open_ring(const reactor_options& options);
  void probe_multishot(const reactor_options& options);
  io_uring& ring() noexcept { return *ring_.get(); }

  // uring_turn.cpp: system calls and the dispatch of completions
  void enter(time_point due) noexcept;
  bool set_alarm(time_point due) noexcept;
  bool submit() noexcept;
  void submit_rest() noexcept;
  void entered(int outcome, std::uint32_t prepared) noexcept;
  std::uint32_t kernel_flags() noexcept;
  bool kernel_has_events() noexcept;
  static bool awaited(intrusive_list<slot>& sends) noexcept;
  bool failures_told() noexcept;
  bool complete(intrusive_list<slot>& sent) noexcept;
  bool complete_sent() noexcept;
  void wake() noexcept override;
  void tell_host() noexcept;
  void watch_wakeups() noexcept;
  bool dispatch_completions() noexcept;
  void dispatch(const arrival& event) noexcept;
  void dispatch_accept(slot& s, const arrival& event) noexcept;
  void dispatch_send(slot& s, const arrival& event) noexcept;
  void dispatch_receive(slot& s, const arrival& event) noexcept;
  void dispatch_emulated_receive(slot& s, std::int32_t outcome) noexcept;
  void deliver_received(slot& s, std::int32_t outcome, buffer_ref& buffer) noexcept;
  void settle_receive_pools() noexcept;
  void resume_receive_pools() noexcept;

  // uring_reactor.cpp: the stages of one operation
  void hand_over(slot& s) noexcept override;
  result<std::unique_ptr<datagram_buffers>> new_datagram_buffers(std::uint32_t count,
                                                                 std::size_t datagram_bytes) override;
  void hand_over_again(slot& s) noexcept;
  void move_queued() noexcept;
  void pause(slot& s) noexcept;
  static uring_receive_pool& pool_of(const slot& s) noexcept {
    return static_cast<uring_receive_pool&>(slot_reactor::pool_of(s));
  }
  static uring_datagram_buffers& datagrams_of(const slot& s) noexcept {
    return static_cast<uring_datagram_buffers&>(pool_of(s));
  }
  std::uint16_t unused_group() noexcept;
  void prepare_send(io_uring_sqe& sqe, slot& s) noexcept;
  void prepare_receive(io_uring_sqe& sqe, slot& s) const noexcept;
  void fill_receive_buffer(slot& s) noexcept;
  void prepare(io_uring_sqe& sqe, slot& s) noexcept;
  void prepare_cancel(io_uring_sqe& sqe, slot& s) const noexcept;

  uring ring_;
  uring_receive_pool streams_;
  intrusive_list<uring_receive_pool> pools_;
  unique_fd host_fd_;               // the descriptor that a host waits on, if one has asked for it
  std::atomic<int> host_wake_{-1};  // the same descriptor, for other threads
  bool wakeups_watched_ = false;
  time_point alarm_ = never;  // the time at which the kernel's timer wakes us
  __kernel_timespec alarm_spec_{};
  intrusive_list<slot> queued_;
  intrusive_list<slot> silent_;  // silent sends that are prepared
  intrusive_list<slot> sent_;    // silent sends that are submitted: done, unless the kernel reports a failure
};

}  // namespace scoll::transport
