#pragma once

#include <atomic>
#include <cstdint>

#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "transport/io/file_workers.hpp"
#include "transport/io/posted_inbox.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/receive_buffers.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {

/// The part that the backends share. An operation is written into the slot of its completion, so that nothing
/// is allocated for it, and handed over to the backend. A finished operation waits in a list and is delivered
/// by a turn, never by the call that began or ended it. Posts from other threads, the clock and the threads
/// for files are here too.
class slot_reactor : public reactor {
 public:
  time_point now() const noexcept override { return now_; }
  time_point exact_now() const noexcept override;
  void post(posted_node& node) noexcept override;
  void give_way() noexcept override;

  void accept_multishot(int fd, io_completion& done) noexcept override;
  void connect(int fd, const sockaddr* address, socklen_t size, io_completion& done) noexcept override;
  result<std::unique_ptr<datagram_buffers>> make_datagram_buffers(std::uint32_t count,
                                                                  std::size_t datagram_bytes) override;
  void receive(int fd, std::span<std::byte> into, io_completion& done) noexcept override;
  void send(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept override;
  void send_deferred(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept override;
  void flush(io_completion& done) noexcept override;
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
  void stat(int directory_fd, const char* path, int flags, struct statx& out,
            io_completion& done) noexcept override;
  void rename(const char* from, const char* to, io_completion& done) noexcept override;
  void unlink(const char* path, int flags, io_completion& done) noexcept override;
  void make_directory(const char* path, mode_t mode, io_completion& done) noexcept override;
  void list(const char* path, directory_listing& out, io_completion& done) noexcept override;

  const reactor_features& features() const noexcept override { return features_; }
  reactor_statistics statistics() const noexcept override { return statistics_; }

 protected:
  using slot = detail::io_slot;
  using opcode = slot::opcode;
  using place = slot::place;

  /// The number of ready nodes and timers that one turn runs before it asks the kernel again.
  static constexpr std::size_t ready_budget = 4096;

  slot_reactor() noexcept;
  ~slot_reactor() override = default;

  /// Takes an operation that begins.
  virtual void hand_over(slot& s) noexcept = 0;
  /// Takes an operation back from a thread, with its outcome in `result`.
  virtual void returned(slot& s) noexcept { end(s, s.result); }
  virtual result<std::unique_ptr<datagram_buffers>> new_datagram_buffers(std::uint32_t count,
                                                                         std::size_t datagram_bytes) = 0;
  /// Ends the wait of a turn, from any thread.
  virtual void wake() noexcept;

  /// Opens the descriptor by which other threads wake this reactor.
  status open_wakeups();
  /// A backend's destructor must call this first, because threads still use the backend.
  void end_threads() noexcept;
  void read_time() noexcept;
  /// The time by which the next turn is due. A time that has passed means at once.
  time_point next_turn(nanoseconds longest_wait) const noexcept;
  static nanoseconds time_until(time_point due) noexcept;
  nanoseconds permitted_wait(nanoseconds longest) const noexcept;

  slot& begin(io_completion& done, opcode kind, int fd) noexcept;
  slot& begin_send(io_completion& done, int fd, std::span<const std::byte> bytes) noexcept;
  void begin_pooled(io_completion& done, opcode kind, int fd, receive_buffers& from) noexcept;
  void hand_to_thread(slot& s) noexcept;
  /// Notes the outcome, which is delivered in this turn or the next.
  void end(slot& s, std::int32_t outcome) noexcept;
  void finish(slot& s, std::int32_t outcome) noexcept;
  static receive_buffers& pool_of(const slot& s) noexcept { return *static_cast<receive_buffers*>(s.second); }

  posted_inbox inbox_;
  std::atomic<std::uint32_t> posting_{0};  // threads that are in `post`
  unique_fd wake_fd_;
  std::uint32_t outstanding_ = 0;
  reactor_features features_;
  reactor_statistics statistics_;

 private:
  void finish_ended() noexcept;

  time_point now_{};
  intrusive_list<slot> ended_;
  member_node<&slot_reactor::finish_ended> finish_ended_{*this};
  file_workers workers_;
};

}  // namespace scoll::transport
