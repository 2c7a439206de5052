#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "transport/io/buffer.hpp"
#include "transport/io/reactor_options.hpp"

namespace scoll::transport {

class io_completion;

namespace detail {

/// A backend's record of a pending operation: the request, so that it can be handed to the kernel later or
/// again, and where it is now. It is part of every `io_completion`, so that backends allocate nothing per
/// operation.
struct io_slot : list_hook<> {
  enum class opcode : std::uint8_t {
    none,
    accept,
    connect,
    receive_multishot,
    receive,
    receive_datagrams,
    send,
    send_message,
    poll,
    open,
    read,
    write,
    sync,
    stat,
    rename,
    unlink,
    make_directory,
    list,
    close
  };
  enum class place : std::uint8_t {
    nowhere,    // not pending, or its last completion is being delivered
    queued,     // waits for room in the submission queue, or for an attempt
    submitted,  // the kernel has it, or is watching for it
    paused,     // a receive that waits for a buffer
    elsewhere,  // a thread works on it
    ended,      // will complete with `result`, without the kernel
  };

  explicit io_slot(io_completion& completion) noexcept : owner(&completion) {}

  io_completion* owner;
  opcode kind = opcode::none;
  place where = place::nowhere;
  bool cancelling = false;
  bool polled = false;   // emulated multishot receive: data has arrived, the buffer is in use
  bool watched = false;  // poll: counted among the waiters on its descriptor
  bool lazy = false;     // send: its completion may be delayed
  bool silent = false;   // send: complete when submitted, unless the kernel reports a failure
  bool patient = false;  // send: the socket was full, and the kernel waits for room
  int fd = -1;
  std::uint32_t length = 0;
  std::uint32_t flags = 0;
  std::uint32_t mode = 0;
  std::int32_t result = 0;
  std::uint64_t offset = 0;
  const void* address = nullptr;
  void* second = nullptr;
  buffer_ref buffer;
};

}  // namespace detail

/// One datagram, in the buffer that it was received into.
struct received_datagram {
  const sockaddr* source;
  socklen_t source_size;
  std::span<const std::byte> bytes;
  /// The datagram was longer than the buffer, and its end is lost.
  bool truncated;
};

/// Receives the completion of one operation. It is part of the object that waits, and must stay in place
/// until the last completion has arrived, which is the one with `more` false. `result` is a count or a
/// negative errno, as in io_uring.
class io_completion {
 public:
  struct event {
    std::int32_t result;
    /// The operation is a multishot one and continues.
    bool more;
    /// The buffer with the received bytes, which may be moved from. Null except for receives.
    buffer_ref* buffer;
    /// The datagram, for `receive_datagrams` only; valid during the call.
    const received_datagram* datagram = nullptr;
  };
  using function = void (*)(io_completion&, const event&) noexcept;

  explicit io_completion(function complete) noexcept : complete_(complete), slot_(*this) {}
  io_completion(const io_completion&) = delete;
  io_completion& operator=(const io_completion&) = delete;

  bool pending() const noexcept { return pending_; }

 protected:
  ~io_completion() { SCOLL_ASSERT(!pending_, "an I/O operation was abandoned by its owner"); }

 private:
  friend class file_system;
  function complete_;
  bool pending_ = false;
  detail::io_slot slot_;
};

/// One name in a directory.
struct directory_entry {
  std::string name;
  bool directory = false;
  friend bool operator==(const directory_entry&, const directory_entry&) = default;
};
/// The entries of a directory, sorted by name, without "." and "..".
using directory_listing = std::vector<directory_entry>;

/// The files of one host: a reactor's, or simulated ones with crash points (`sim_file_system`). Coroutines
/// use it through `file` and the awaitables; each operation is one virtual call. Flags and results are those
/// of the system calls, with a negative errno for a failure. Paths and buffers must stay valid until
/// completion.
class file_system {
 public:
  virtual void open(int directory_fd, const char* path, int flags, mode_t mode,
                    io_completion& done) noexcept = 0;
  virtual void read(int fd, std::span<std::byte> into, std::uint64_t offset,
                    io_completion& done) noexcept = 0;
  virtual void write(int fd, std::span<const std::byte> from, std::uint64_t offset,
                     io_completion& done) noexcept = 0;
  /// Makes a file or a directory durable. A directory's names become durable when the directory is
  /// synchronised, not when the files are.
  virtual void sync(int fd, io_completion& done) noexcept = 0;
  virtual void stat(int directory_fd, const char* path, int flags, struct statx& out,
                    io_completion& done) noexcept = 0;
  virtual void rename(const char* from, const char* to, io_completion& done) noexcept = 0;
  virtual void unlink(const char* path, int flags, io_completion& done) noexcept = 0;
  virtual void make_directory(const char* path, mode_t mode, io_completion& done) noexcept = 0;
  /// Lists a directory. `out` is replaced on success.
  virtual void list(const char* path, directory_listing& out, io_completion& done) noexcept = 0;
  virtual void close_file(int fd, io_completion& done) noexcept = 0;
  /// Closes a file at once, for destructors: a failure is not reported. No operation on it may be pending.
  virtual void abandon_file(int fd) noexcept = 0;

  /// Asks a pending operation to end soon. It still completes, with -ECANCELED or with its result. Nothing
  /// happens if `done` is not pending. A backend whose operations are short may ignore the request.
  virtual void cancel(io_completion& done) noexcept { static_cast<void>(done); }

 protected:
  ~file_system() = default;

  // For implementations.
  static void mark_pending(io_completion& done) noexcept {
    SCOLL_ASSERT(!done.pending_, "an io_completion carries one operation at a time");
    done.pending_ = true;
  }
  /// Delivers an event to the waiter, which may be gone afterwards if this was the last completion.
  static void deliver(io_completion& done, const io_completion::event& event) noexcept {
    done.pending_ = event.more;
    done.complete_(done, event);
  }
  static detail::io_slot& slot_of(io_completion& done) noexcept { return done.slot_; }
};

/// Buffers for the datagrams of one socket, made by `reactor::make_datagram_buffers`. They must outlive the
/// receive that uses them and every reference to one of them; the reactor must outlive them.
class datagram_buffers {
 public:
  virtual ~datagram_buffers() = default;
  datagram_buffers(const datagram_buffers&) = delete;
  datagram_buffers& operator=(const datagram_buffers&) = delete;

 protected:
  datagram_buffers() noexcept = default;
};

/// The executor that does I/O: one per thread, created on the thread that drives it. Operations report to
/// `io_completion` objects. Submissions are batched and leave once per turn, together with the wait. There
/// are two backends: io_uring, and poll where io_uring is forbidden or unknown.
class reactor : public executor, public file_system {
 public:
  /// Creates a reactor on this thread. The backend is the one that `options` name, else the one that
  /// SCOLL_REACTOR_BACKEND names (`io_uring`, `poll`, `automatic`), else io_uring, and poll if io_uring is
  /// `unsupported`; that fallback is announced once per process on stderr. Errors name the cause: io_uring is
  /// forbidden (and by what), too little memory may be locked, or the kernel is too old (and which one is
  /// needed). `invalid_argument`: the options are out of range, or the variable names no backend, even if the
  /// options do.
  static result<std::unique_ptr<reactor>> create(const reactor_options& options = {});

  /// Runs one turn: submits the batch, waits at most `longest_wait` (0: not at all), dispatches completions
  /// and runs everything that became ready. The wait ends early when something is ready or a timer is due.
  /// Returns true if anything ran.
  virtual bool run_once(nanoseconds longest_wait) noexcept = 0;
  /// Runs turns until `stop()` is called on this thread (a posted callback may call it). If it was called
  /// before, `run` returns at once.
  void run() noexcept;
  void stop() noexcept { stopped_ = true; }

  /// A descriptor for a host that waits with poll, epoll or the like between calls of `run_once`. It is
  /// readable when `run_once(0)` has something to do. Timers do not make it readable, so wait at most until
  /// `next_wakeup()`. The reactor owns it, and only the reactor may read it.
  virtual int pollable_fd() noexcept = 0;
  nanoseconds processor_time() const noexcept override;
  time_point next_wakeup() const noexcept { return has_ready() ? now() : next_timer(); }

  /// Accepts connections: one completion per socket (`result` is its descriptor) until cancelled or failed.
  virtual void accept_multishot(int fd, io_completion& done) noexcept = 0;
  /// `address` must stay valid until completion.
  virtual void connect(int fd, const sockaddr* address, socklen_t size, io_completion& done) noexcept = 0;
  /// Receives until cancelled or failed: one completion per arrival, with its buffer and size; `result` 0 is
  /// the end of the stream. When buffers run out, the receive pauses and goes on as buffers return. It ends
  /// with -ENOBUFS (`more` is false) only if the backend itself cannot re-arm.
  virtual void receive_multishot(int fd, io_completion& done) noexcept = 0;
  /// Receives once, at most `into.size()` bytes; `result` 0 is the end of the stream.
  virtual void receive(int fd, std::span<std::byte> into, io_completion& done) noexcept = 0;
  /// Makes `count` buffers (1 to 32768) for datagrams of at most `datagram_bytes` bytes (1 to 65535).
  virtual result<std::unique_ptr<datagram_buffers>> make_datagram_buffers(std::uint32_t count,
                                                                          std::size_t datagram_bytes) = 0;
  /// Receives datagrams from a blocking socket until cancelled or failed: one completion per datagram, with
  /// its source. `result` is its size, and a size of 0 is a datagram too. The buffers serve one receive at a
  /// time.
  virtual void receive_datagrams(int fd, datagram_buffers& into, io_completion& done) noexcept = 0;
  /// Sends once. Fewer bytes than given may be sent.
  virtual void send(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept = 0;
  /// Like `send`, but completion may be delayed by up to 20 ms, until a turn that has something else to do,
  /// so that it costs no system call of its own.
  virtual void send_deferred(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept = 0;
  /// Ends the delay of `send_deferred`, because its completion is now waited for. Does nothing if `done` is
  /// not pending.
  virtual void flush(io_completion& done) noexcept = 0;
  /// Sends once. `message` and all that it points to must stay valid until completion. Fewer bytes than given
  /// may be sent.
  virtual void send_message(int fd, const msghdr& message, io_completion& done) noexcept = 0;
  virtual void poll(int fd, std::uint32_t events, io_completion& done) noexcept = 0;
  /// Sends at once, with a system call of its own, as much as the socket takes without waiting. The memory is
  /// free when it returns. The result is a count, or a negative errno such as -EAGAIN.
  virtual std::int64_t send_now(int fd, const msghdr& message) noexcept = 0;
  /// Receives at once what the socket has, without waiting. The result is a count, or a negative errno such
  /// as -EAGAIN.
  virtual std::int64_t receive_now(int fd, msghdr& message) noexcept = 0;
  virtual void close_socket(int fd, io_completion& done) noexcept = 0;

  /// Asks a pending operation to end soon; its completion never comes from inside this call. Does nothing if
  /// `done` is not pending.
  void cancel(io_completion& done) noexcept override = 0;

  virtual buffer_pool& receive_pool() noexcept = 0;
  virtual const reactor_features& features() const noexcept = 0;
  virtual reactor_statistics statistics() const noexcept = 0;

  ~reactor() override = default;

 protected:
  bool stopped_ = false;
  bool running_ = false;  // inside `run`: another turn follows, so submissions may wait for it
};

}  // namespace scoll::transport
