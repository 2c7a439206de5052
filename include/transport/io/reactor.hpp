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

/// What a backend keeps about a pending operation: the request, so that it can be handed to the kernel later
/// or once more, and where it is. Part of every `io_completion`, so that backends allocate nothing per
/// operation.
struct io_slot : list_hook<> {
  enum class operation : std::uint8_t {
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
    status,
    rename,
    unlink,
    make_directory,
    list,
    close
  };
  enum class place : std::uint8_t {
    nowhere,    // not pending, or its last completion is being delivered
    queued,     // waits for room in the submission queue, or to be tried
    submitted,  // the kernel has it, or is watching for it
    paused,     // a receive that waits for a buffer
    elsewhere,  // a thread works on it
    ended,      // will complete with `result`, without the kernel
  };

  explicit io_slot(io_completion& completion) noexcept : owner(&completion) {}

  io_completion* owner;
  operation kind = operation::none;
  place where = place::nowhere;
  bool cancelling = false;
  bool polled = false;   // emulated multishot receive: data is there, the buffer is in use
  bool watched = false;  // poll: its descriptor counts it
  bool lazy = false;     // send: nobody waits for it
  bool silent = false;   // send: done when it was submitted, unless the kernel says otherwise
  bool patient = false;  // send: the socket was full, the kernel waits for room
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
  bool truncated;  ///< it was longer than the buffers: its end is lost
};

/// Where the completion of one operation goes. Lives in the object that waits and must stay in place until
/// the last completion has arrived: `more` is false then. `result` is a count or a negative errno, as
/// io_uring gives it.
class io_completion {
 public:
  struct event {
    std::int32_t result;
    bool more;           ///< a multishot operation that goes on
    buffer_ref* buffer;  ///< the buffer received into (may be moved from); null for everything but receives
    const received_datagram* datagram = nullptr;  ///< of `receive_datagrams` alone; valid during the call
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
/// Sorted by name, without "." and "..".
using directory_listing = std::vector<directory_entry>;

/// The files of one host: a reactor's, or simulated ones with crash points (`sim_file_system`). One virtual
/// call per operation. Paths and buffers must live until completion. Results are as the system calls',
/// negative errno for failure; flags are theirs too. Behind `file` and the awaitables it is used by
/// coroutines.
class file_system {
 public:
  virtual void open(int directory_fd, const char* path, int flags, mode_t mode,
                    io_completion& done) noexcept = 0;
  virtual void read(int fd, std::span<std::byte> into, std::uint64_t offset,
                    io_completion& done) noexcept = 0;
  virtual void write(int fd, std::span<const std::byte> from, std::uint64_t offset,
                     io_completion& done) noexcept = 0;
  /// Of a file or a directory: names in a directory are durable when it is, not when the files are.
  virtual void sync(int fd, io_completion& done) noexcept = 0;
  virtual void status(int directory_fd, const char* path, int flags, struct statx& out,
                      io_completion& done) noexcept = 0;
  virtual void rename(const char* from, const char* to, io_completion& done) noexcept = 0;
  virtual void unlink(const char* path, int flags, io_completion& done) noexcept = 0;
  virtual void make_directory(const char* path, mode_t mode, io_completion& done) noexcept = 0;
  /// `out` is replaced when it succeeds.
  virtual void list(const char* path, directory_listing& out, io_completion& done) noexcept = 0;
  virtual void close_file(int fd, io_completion& done) noexcept = 0;
  /// Closes at once, for destructors: nobody hears of a failure. No operation may be pending on it.
  virtual void abandon_file(int fd) noexcept = 0;

  /// Asks that a pending operation end soon; it still completes, with -ECANCELED or its result. Nothing
  /// happens if it is not pending. A backend whose operations are short may ignore it.
  virtual void cancel(io_completion& done) noexcept { static_cast<void>(done); }

 protected:
  ~file_system() = default;

  // For those who implement it.
  static void mark_pending(io_completion& done) noexcept {
    SCOLL_ASSERT(!done.pending_, "an io_completion carries one operation at a time");
    done.pending_ = true;
  }
  /// Delivers to the waiter; the waiter may be gone afterwards if this was the last completion.
  static void deliver(io_completion& done, const io_completion::event& event) noexcept {
    done.pending_ = event.more;
    done.complete_(done, event);
  }
  static detail::io_slot& slot_of(io_completion& done) noexcept { return done.slot_; }
};

/// Buffers for the datagrams of one socket, of a reactor that outlives them (`make_datagram_buffers`). They
/// outlive the receive that uses them and every reference to one.
class datagram_buffers {
 public:
  virtual ~datagram_buffers() = default;
  datagram_buffers(const datagram_buffers&) = delete;
  datagram_buffers& operator=(const datagram_buffers&) = delete;

 protected:
  datagram_buffers() noexcept = default;
};

/// The executor that does I/O: one per thread, created on the thread that drives it. Operations are callbacks
/// on `io_completion` objects; submissions are batched and leave once per turn, with the wait. Two backends
/// fill this interface: io_uring, and poll where that is forbidden or unknown.
class reactor : public executor, public file_system {
 public:
  /// Creates a backend on this thread: the one that `options` name, else the one that SCOLL_REACTOR_BACKEND
  /// names (`io_uring`, `poll`, `automatic`), else io_uring, and poll where that is `unsupported`, with one
  /// line on stderr per process. A failure names its cause: io_uring forbidden (and by what), locked memory,
  /// a kernel that is too old (and which is needed), or `invalid_argument` for a variable that names no
  /// backend, whatever the options say.
  static result<std::unique_ptr<reactor>> create(const reactor_options& options = {});

  /// One turn: submits what is batched, waits at most `longest_wait` (0: not at all; less when something is
  /// ready or a timer is due), dispatches completions, runs what became ready. Returns whether anything ran.
  virtual bool run_once(nanoseconds longest_wait) noexcept = 0;
  /// Turns until `stop()` is called on this thread (or posted). A stop that came before ends it at once.
  void run() noexcept;
  void stop() noexcept { stopped_ = true; }

  /// For a host that waits with poll, epoll or the like, between turns of `run_once`. Readable when
  /// `run_once(0)` has something to do; timers are not in it: wait at most until `next_wakeup()`. The reactor
  /// owns it; nobody else reads it.
  virtual int pollable_fd() noexcept = 0;
  nanoseconds processor_time() const noexcept override;
  time_point next_wakeup() const noexcept { return has_ready() ? now() : next_timer(); }

  /// One accepted socket per completion (`result` is the fd) until cancelled or failed.
  virtual void accept_multishot(int fd, io_completion& done) noexcept = 0;
  /// `address` must stay valid until completion.
  virtual void connect(int fd, const sockaddr* address, socklen_t size, io_completion& done) noexcept = 0;
  /// One completion per arrival with its buffer and size; `result` 0 is the end of the stream. Ends with
  /// -ENOBUFS (more == false) only when the backend itself cannot re-arm; running out of buffers for a while
  /// is handled inside: the receive pauses and goes on when buffers return.
  virtual void receive_multishot(int fd, io_completion& done) noexcept = 0;
  /// One arrival, at most `into.size()` bytes; 0 is the end of the stream.
  virtual void receive(int fd, std::span<std::byte> into, io_completion& done) noexcept = 0;
  /// `count` buffers, 1..32768, for datagrams of at most `datagram_bytes`, 1..65535.
  virtual result<std::unique_ptr<datagram_buffers>> make_datagram_buffers(std::uint32_t count,
                                                                          std::size_t datagram_bytes) = 0;
  /// As `receive_multishot`, of a blocking datagram socket: one completion per datagram, with its source;
  /// `result` is its size, and 0 is a datagram too. Buffers serve one receive at a time.
  virtual void receive_datagrams(int fd, datagram_buffers& into, io_completion& done) noexcept = 0;
  /// Short counts are possible.
  virtual void send(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept = 0;
  /// Like `send`, but completion may be delayed by up to 20 ms, until a turn that has something else to do,
  /// so that it costs no system call of its own.
  virtual void send_deferred(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept = 0;
  /// Ends the delay of `send_deferred`, since somebody waits for it after all. Does nothing if `done` is not
  /// pending.
  virtual void flush(io_completion& done) noexcept = 0;
  /// `message` and all it points to must live until completion. Short counts are possible.
  virtual void send_message(int fd, const msghdr& message, io_completion& done) noexcept = 0;
  virtual void poll(int fd, std::uint32_t events, io_completion& done) noexcept = 0;
  /// A system call of its own that does not wait: what the socket takes, or has, now. The memory is free when
  /// it returns. A count, or a negative errno such as -EAGAIN.
  virtual std::int64_t send_now(int fd, const msghdr& message) noexcept = 0;
  virtual std::int64_t receive_now(int fd, msghdr& message) noexcept = 0;
  virtual void close_socket(int fd, io_completion& done) noexcept = 0;

  /// Never completes inline. Harmless on an object that is not pending.
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
