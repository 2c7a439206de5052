#pragma once

#include <liburing.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "coro/intrusive_list.hpp"
#include "posted_inbox.hpp"
#include "transport/reactor.hpp"
#include "transport/socket.hpp"
#include "uring_probe.hpp"
#include "uring_receive_pool.hpp"

namespace scoll::transport {

/// The reactor on io_uring. Where an operation is (`io_slot::place`):
///
/// ```
///            room in the queue           last completion
///   start ───────────────────► submitted ───────────────► nowhere
///     │                        ▲   │   ▲                    ▲
///     │ queue full             │   │   │ buffers came back  │ from the ready list
///     ▼        next turn       │   ▼   │                    │
///   queued ────────────────────┘  paused                    │
///     │ cancel                     │ cancel                 │
///     └────────────────────────────┴──────► ended ──────────┘
/// ```
/// A listing is `elsewhere`, on a thread of its own, until it has `ended`; nothing cancels it.
/// A cancel of a submitted operation that finds the queue full waits in the same list as `queued` ones.
class uring_reactor final : public reactor {
 public:
  static result<std::unique_ptr<reactor>> create(const reactor_options& options);
  ~uring_reactor() override;

  time_point now() const noexcept override { return now_; }
  void post(posted_node& node) noexcept override;
  bool run_once(nanoseconds longest_wait) noexcept override;
  void flush_io() noexcept override { submit_rest(); }
  int pollable_fd() noexcept override;

  void accept_multishot(int fd, io_completion& done) noexcept override;
  void connect(int fd, const sockaddr* address, socklen_t size, io_completion& done) noexcept override;
  void receive_multishot(int fd, io_completion& done) noexcept override;
  void receive(int fd, std::span<std::byte> into, io_completion& done) noexcept override;
  result<std::unique_ptr<datagram_buffers>> make_datagram_buffers(std::uint32_t count,
                                                                  std::size_t datagram_bytes) override;
  void receive_datagrams(int fd, datagram_buffers& into, io_completion& done) noexcept override;
  void send(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept override;
  void send_message(int fd, const msghdr& message, io_completion& done) noexcept override;
  void poll(int fd, std::uint32_t events, io_completion& done) noexcept override;
  std::int64_t send_now(int fd, const msghdr& message) noexcept override;
  std::int64_t receive_now(int fd, msghdr& message) noexcept override;
  void close_socket(int fd, io_completion& done) noexcept override;

  void open(int directory_fd, const char* path, int flags, mode_t mode,
            io_completion& done) noexcept override;
  void read(int fd, std::span<std::byte> into, std::uint64_t offset, io_completion& done) noexcept override;
  void write(int fd, std::span<const std::byte> from, std::uint64_t offset,
             io_completion& done) noexcept override;
  void sync(int fd, io_completion& done) noexcept override;
  void status(int directory_fd, const char* path, int flags, struct statx& out,
              io_completion& done) noexcept override;
  void rename(const char* from, const char* to, io_completion& done) noexcept override;
  void unlink(const char* path, int flags, io_completion& done) noexcept override;
  void make_directory(const char* path, mode_t mode, io_completion& done) noexcept override;
  void list(const char* path, directory_listing& out, io_completion& done) noexcept override;
  void close_file(int fd, io_completion& done) noexcept override { close_socket(fd, done); }
  void abandon_file(int fd) noexcept override { unique_fd(fd).reset(); }

  void cancel(io_completion& done) noexcept override;

  slab_pool& receive_pool() noexcept override { return streams_.slabs; }
  const reactor_features& features() const noexcept override { return features_; }
  reactor_statistics statistics() const noexcept override { return statistics_; }

  // For receive pools: those of datagram sockets come and go.
  void adopt(uring_datagram_buffers& pool) noexcept;
  void release(uring_datagram_buffers& pool) noexcept;
  void resume_paused(uring_receive_pool& pool) noexcept;

 private:
  using slot = detail::io_slot;
  using operation = slot::operation;
  using place = slot::place;
  struct arrival;
  class listing;

  /// Runs a member of the reactor from its ready list.
  class action final : public ready_node {
   public:
    using member = void (uring_reactor::*)() noexcept;
    action(uring_reactor& self, member run) noexcept : ready_node(&invoke), self_(self), run_(run) {}
    ~action() = default;

   private:
    static void invoke(ready_node& node) noexcept {
      auto& a = static_cast<action&>(node);
      (a.self_.*a.run_)();
    }
    uring_reactor& self_;
    member run_;
  };

  explicit uring_reactor(const reactor_options& options);
  scoll::status open_ring(const reactor_options& options);
  void probe_multishot(const reactor_options& options);
  io_uring& ring() noexcept { return *ring_.get(); }

  // uring_turn.cpp: system calls and the dispatch of completions
  void read_time() noexcept;
  nanoseconds permitted_wait(nanoseconds longest) noexcept;
  void enter(nanoseconds wait) noexcept;
  void block(nanoseconds wait) noexcept;
  bool submit() noexcept;
  void submit_rest() noexcept;
  void entered(int outcome, std::uint32_t prepared) noexcept;
  bool kernel_has_events() noexcept;
  void wake() noexcept;
  void tell_host() noexcept;
  void watch_wakeups() noexcept;
  bool dispatch_completions() noexcept;
  void dispatch(const arrival& event) noexcept;
  void dispatch_accept(slot& s, const arrival& event) noexcept;
  void dispatch_receive(slot& s, const arrival& event) noexcept;
  void dispatch_emulated_receive(slot& s, std::int32_t outcome) noexcept;
  void deliver_received(slot& s, std::int32_t outcome, slab_ref& buffer) noexcept;
  void settle_receive_pools() noexcept;
  void resume_receive_pools() noexcept;

  // uring_reactor.cpp: the way of one operation
  slot& begin(io_completion& done, operation kind, int fd) noexcept;
  void hand_over(slot& s) noexcept;
  void hand_over_again(slot& s) noexcept;
  void move_queued() noexcept;
  void pause(slot& s) noexcept;
  void end(slot& s, std::int32_t outcome) noexcept;
  void finish(slot& s, std::int32_t outcome) noexcept;
  void finish_ended() noexcept;
  static uring_receive_pool& pool_of(const slot& s) noexcept {
    return *static_cast<uring_receive_pool*>(s.second);
  }
  static uring_datagram_buffers& datagrams_of(const slot& s) noexcept {
    return static_cast<uring_datagram_buffers&>(pool_of(s));
  }
  std::uint16_t unused_group() noexcept;
  void prepare_receive(io_uring_sqe& sqe, slot& s) const noexcept;
  void fill_receive_slab(slot& s) noexcept;
  void prepare(io_uring_sqe& sqe, slot& s) noexcept;
  void prepare_cancel(io_uring_sqe& sqe, slot& s) const noexcept;

  uring ring_;
  uring_receive_pool streams_;
  intrusive_list<uring_receive_pool> pools_;
  posted_inbox inbox_;
  unique_fd wake_fd_;
  unique_fd host_fd_;               // what a host waits on, if one has asked
  std::atomic<int> host_wake_{-1};  // the same, for other threads
  bool wakeups_watched_ = false;
  std::uint32_t outstanding_ = 0;
  std::uint32_t brief_sends_ = 0;  // prepared, not submitted, and small enough to complete at once
  time_point now_{};
  __kernel_timespec timeout_{};
  intrusive_list<slot> queued_;
  intrusive_list<slot> ended_;
  action finish_ended_;
  reactor_features features_;
  reactor_statistics statistics_;
};

}  // namespace scoll::transport
