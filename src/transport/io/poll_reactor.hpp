#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/poll_datagrams.hpp"
#include "transport/io/poll_interests.hpp"
#include "transport/io/receive_buffers.hpp"
#include "transport/io/slot_reactor.hpp"

namespace scoll::transport {

/// The reactor on epoll, for systems where io_uring is forbidden or unknown. An operation is attempted first,
/// and waits for its descriptor if that is not ready. Where an operation is (`io_slot::place`):
///
/// ```text
///            next turn           tried: done
///   queued ─────────► submitted ─────────────► ended ─────► nowhere
///     ▲                │ ▲  ▲ │                  ▲   delivered
///     │ cancel         │ │  │ │ no buffer        │
///     ├────────────────┘ │  │ ▼                  │
///     └── paused ────────┼──┘ buffers came back  │
///   file operations: elsewhere, with a thread ───┘
/// ```
/// A submitted operation waits in the list of its descriptor, or is believed to be ready. A cancelled one
/// goes through the queue once more, so that sends which began before leave first, as they do with the ring.
/// An operation on a file cannot be cancelled. Reads and writes of pipes and the like, which a thread hands
/// back, wait for their descriptor as sockets do.
class poll_reactor final : public slot_reactor {
 public:
  /// `why`, if it is not empty, goes into the notes of the features.
  static result<std::unique_ptr<reactor>> create(const reactor_options& options, std::string_view why);
  ~poll_reactor() override;

  bool run_once(nanoseconds longest_wait) noexcept override;
  void flush_io() noexcept override { start_queued(); }
  int pollable_fd() noexcept override;

  void receive_multishot(int fd, io_completion& done) noexcept override;
  void receive_datagrams(int fd, datagram_buffers& into, io_completion& done) noexcept override;
  void close_file(int fd, io_completion& done) noexcept override;
  void abandon_file(int fd) noexcept override;
  void cancel(io_completion& done) noexcept override;

  buffer_pool& receive_pool() noexcept override { return streams_.buffers; }

  // For receive pools; those of datagram sockets come and go.
  void adopt(receive_buffers& pool) noexcept { pools_.push_back(pool); }
  static void resume_paused(ready_node& pool) noexcept;

 private:
  explicit poll_reactor(const reactor_options& options);
  status set_up(std::string_view why);
  result<std::unique_ptr<datagram_buffers>> new_datagram_buffers(std::uint32_t count,
                                                                 std::size_t datagram_bytes) override;

  // poll_turn.cpp: waits and their results
  void look(nanoseconds wait) noexcept;
  void collect(const epoll_event& e) noexcept;
  bool try_ready() noexcept;
  void resume_receive_pools() noexcept;

  // poll_reactor.cpp: the stages of one operation
  void hand_over(slot& s) noexcept override;
  void returned(slot& s) noexcept override;
  bool watch(slot& s) noexcept;
  void queue(slot& s) noexcept;
  void start_queued() noexcept;
  void start(slot& s) noexcept;
  void wait_for(slot& s, bool anew) noexcept;
  void believe_ready(slot& s) noexcept;
  void pause(slot& s) noexcept;
  void conclude(slot& s, std::int32_t outcome) noexcept;
  void drop_pending(int fd) noexcept;
  void drop_from(intrusive_list<slot>& list, int fd) noexcept;
  static std::uint32_t events_for(const slot& s) noexcept;

  // poll_attempts.cpp: system calls of one operation
  void attempt(slot& s) noexcept;
  void settle(slot& s, ssize_t outcome) noexcept;
  void close_now(slot& s) noexcept;
  void connect_some(slot& s) noexcept;
  void accept_some(slot& s) noexcept;
  void receive_some(slot& s) noexcept;
  void receive_datagrams_some(slot& s) noexcept;
  void deliver_datagrams(slot& s, poll_datagram_buffers& from, std::size_t count) noexcept;
  void deliver_more(slot& s, const io_completion::event& event) noexcept;

  poll_interests interests_{statistics_.enters};
  receive_buffers streams_;
  intrusive_list<receive_buffers> pools_;
  intrusive_list<slot> queued_;  // operations that have begun or been cancelled
  intrusive_list<slot> ready_;   // operations that are believed to be ready
  intrusive_list<slot> trying_;  // operations to attempt in this turn
  bool hosted_ = false;          // a host waits on the descriptor
  bool looked_ = false;          // the last turn asked the kernel for events
  bool tells_only_ = false;      // everything ready is operations that were done at once
};

}  // namespace scoll::transport
