#pragma once

#include <fcntl.h>

#include <cerrno>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "transport/io/file.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"

/// Awaitables for the operations of a file system and a reactor. Each awaiter holds what must stay in place
/// while the kernel works. Paths and buffers belong to the caller and must stay valid until the await is
/// over. A stop request asks the operation to end early. The await still lasts until the operation has ended,
/// and gives `cancelled`, or the operation's result if that came first.

namespace scoll::transport {
namespace detail {

/// Makes an error: `cancelled` for ECANCELED, otherwise one for the errno. The text is the operation and its
/// path, if it has one; a long path loses its beginning, because the end tells more.
error io_failure(int errno_value, const char* operation, const char* path);

/// The waiting half of an operation: it resumes the coroutine at completion and passes on a stop request.
class io_waiter : protected io_completion {
 public:
  bool await_ready() noexcept {
    if (!stop_.stop_requested()) return false;
    outcome_ = -ECANCELED;
    return true;
  }

 protected:
  io_waiter(function complete, file_system& files, stop_token stop, const char* name,
            const char* path) noexcept
      : io_completion(complete),
        files_(&files),
        stop_(stop),
        on_stop_(&ask_to_stop, this),
        name_(name),
        path_(path) {}
  ~io_waiter() = default;

  void suspend(std::coroutine_handle<> handle) noexcept {
    waiter_.set(handle);
    executor_ = &executor::current();
  }
  void heed_stop() noexcept { on_stop_.connect(stop_); }
  bool stopping() const noexcept { return stop_.stop_requested(); }

  void finish(std::int32_t outcome) noexcept {
    outcome_ = outcome;
    on_stop_.disconnect();
    executor_->schedule(waiter_);
  }
  std::int32_t outcome() const noexcept { return outcome_; }
  file opened() const { return {*files_, outcome_, path_}; }
  error failure() const { return io_failure(-outcome_, name_, path_); }

 private:
  static void ask_to_stop(void* self) noexcept {
    auto& waiter = *static_cast<io_waiter*>(self);
    waiter.files_->cancel(waiter);
  }

  file_system* files_;
  executor* executor_ = nullptr;
  stop_token stop_;
  stop_callback on_stop_;
  coroutine_node waiter_;
  const char* name_;
  const char* path_;
  std::int32_t outcome_ = 0;
};

/// One operation with one completion. `Start` begins it; `Value` is the type that a count or descriptor is
/// returned as.
template <class Value, class Start>
class [[nodiscard]] io_awaiter final : private io_waiter {
  static_assert(std::is_trivially_copyable_v<Start>);

 public:
  io_awaiter(file_system& files, stop_token stop, const char* name, const char* path, Start start) noexcept
      : io_waiter(&completed, files, stop, name, path), start_(start) {}

  using io_waiter::await_ready;
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    suspend(handle);
    start_(static_cast<io_completion&>(*this));
    heed_stop();
  }
  result<Value> await_resume() {
    if (outcome() < 0) return failure();
    if constexpr (std::is_void_v<Value>) {
      return {};
    } else if constexpr (std::is_same_v<Value, file>) {
      return opened();
    } else {
      return Value(static_cast<Value>(outcome()));
    }
  }

 private:
  static void completed(io_completion& done, const event& e) noexcept {
    static_cast<io_awaiter&>(done).finish(e.result);
  }
  Start start_;
};

template <class Value, class Start>
io_awaiter<Value, Start> await_io(file_system& files, stop_token stop, const char* name, const char* path,
                                  Start start) noexcept {
  return io_awaiter<Value, Start>(files, stop, name, path, start);
}

}  // namespace detail

/// Opens or creates a file, or a directory with O_DIRECTORY. `flags` and `mode` are those of open(2); add
/// O_CLOEXEC.
[[nodiscard]] inline auto async_open(file_system& files, const char* path, int flags, mode_t mode = 0644,
                                     stop_token stop = {}) noexcept {
  return detail::await_io<file>(files, stop, "open", path, [&files, path, flags, mode](io_completion& done) {
    files.open(AT_FDCWD, path, flags, mode, done);
  });
}

/// Reads once, at `offset` bytes from the file's beginning. The result is the number of bytes read, which may
/// be less than asked for; 0 means the end of the file.
[[nodiscard]] inline auto async_read(const file& f, std::span<std::byte> into, std::uint64_t offset,
                                     stop_token stop = {}) noexcept {
  return detail::await_io<std::size_t>(
      f.system(), stop, "read", f.path().c_str(),
      [&f, into, offset](io_completion& done) { f.system().read(f.fd(), into, offset, done); });
}

/// Writes once, at `offset` bytes from the file's beginning. The result is the number of bytes written, which
/// may be less than given.
[[nodiscard]] inline auto async_write(const file& f, std::span<const std::byte> from, std::uint64_t offset,
                                      stop_token stop = {}) noexcept {
  return detail::await_io<std::size_t>(
      f.system(), stop, "write", f.path().c_str(),
      [&f, from, offset](io_completion& done) { f.system().write(f.fd(), from, offset, done); });
}

/// Makes everything written to the file durable, data and metadata, but not the file's name: see
/// `sync_directory`. If it fails, what was written since the last success may be lost, even if a later call
/// succeeds.
[[nodiscard]] inline auto async_sync(const file& f, stop_token stop = {}) noexcept {
  return detail::await_io<void>(f.system(), stop, "fsync", f.path().c_str(),
                                [&f](io_completion& done) { f.system().sync(f.fd(), done); });
}

/// Writes the file's size, times and kind into `out`. `flags` are those of statx(2), such as
/// AT_SYMLINK_NOFOLLOW.
[[nodiscard]] inline auto async_stat(file_system& files, const char* path, struct statx& out, int flags = 0,
                                     stop_token stop = {}) noexcept {
  return detail::await_io<void>(files, stop, "stat", path, [&files, path, flags, &out](io_completion& done) {
    files.stat(AT_FDCWD, path, flags, out, done);
  });
}
/// Does the same for an open file.
[[nodiscard]] inline auto async_stat(const file& f, struct statx& out, stop_token stop = {}) noexcept {
  return detail::await_io<void>(f.system(), stop, "stat", f.path().c_str(), [&f, &out](io_completion& done) {
    f.system().stat(f.fd(), "", AT_EMPTY_PATH, out, done);
  });
}

/// Renames `from` to `to`, atomically replacing a file at `to`. The change is durable once its directory has
/// been synchronised.
[[nodiscard]] inline auto async_rename(file_system& files, const char* from, const char* to,
                                       stop_token stop = {}) noexcept {
  return detail::await_io<void>(files, stop, "rename", from,
                                [&files, from, to](io_completion& done) { files.rename(from, to, done); });
}

/// Removes a file, or with AT_REMOVEDIR an empty directory.
[[nodiscard]] inline auto async_unlink(file_system& files, const char* path, int flags = 0,
                                       stop_token stop = {}) noexcept {
  return detail::await_io<void>(files, stop, "unlink", path, [&files, path, flags](io_completion& done) {
    files.unlink(path, flags, done);
  });
}

[[nodiscard]] inline auto async_make_directory(file_system& files, const char* path, mode_t mode = 0755,
                                               stop_token stop = {}) noexcept {
  return detail::await_io<void>(files, stop, "mkdir", path, [&files, path, mode](io_completion& done) {
    files.make_directory(path, mode, done);
  });
}

/// Writes the names in a directory into `out`. A stop request that comes after it has begun has no effect.
[[nodiscard]] inline auto async_list(file_system& files, const char* path, directory_listing& out,
                                     stop_token stop = {}) noexcept {
  return detail::await_io<void>(files, stop, "list", path,
                                [&files, path, &out](io_completion& done) { files.list(path, out, done); });
}

/// Closes a file and reports a failure of that. It cannot be stopped; `f` is closed even if the call fails.
[[nodiscard]] inline auto async_close(file& f) noexcept {
  return detail::await_io<void>(f.system(), {}, "close", f.path().c_str(),
                                [&f](io_completion& done) { f.system().close_file(f.release(), done); });
}

/// Closes the socket `fd`, which must have no other owner. It cannot be stopped; the descriptor is closed
/// even if the call fails.
[[nodiscard]] inline auto async_close(reactor& loop, int fd) noexcept {
  return detail::await_io<void>(loop, {}, "close", nullptr,
                                [&loop, fd](io_completion& done) { loop.close_socket(fd, done); });
}

/// Waits for `events` of poll(2) on `fd`. The result is the events that happened.
[[nodiscard]] inline auto async_poll(reactor& loop, int fd, std::uint32_t events,
                                     stop_token stop = {}) noexcept {
  return detail::await_io<std::uint32_t>(
      loop, stop, "poll", nullptr, [&loop, fd, events](io_completion& done) { loop.poll(fd, events, done); });
}

/// Receives once into the caller's memory. The result is the number of bytes; 0 means the end of the stream.
/// It keeps memory reserved while it waits, unlike `reactor::receive_multishot`, so it suits tools and
/// handshakes.
[[nodiscard]] inline auto async_receive(reactor& loop, int fd, std::span<std::byte> into,
                                        stop_token stop = {}) noexcept {
  return detail::await_io<std::size_t>(
      loop, stop, "receive", nullptr,
      [&loop, fd, into](io_completion& done) { loop.receive(fd, into, done); });
}

/// Connects a socket made by `open_stream`. After a failure or cancellation the socket can only be closed.
class [[nodiscard]] async_connect final : private detail::io_waiter {
 public:
  async_connect(reactor& loop, int fd, const socket_address& address, stop_token stop = {}) noexcept
      : io_waiter(&completed, loop, stop, "connect", nullptr), loop_(loop), fd_(fd), address_(address) {}

  using io_waiter::await_ready;
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    suspend(handle);
    loop_.connect(fd_, address_.data(), address_.size(), *this);
    heed_stop();
  }
  status await_resume();

 private:
  static void completed(io_completion& done, const event& e) noexcept {
    static_cast<async_connect&>(done).finish(e.result);
  }
  reactor& loop_;
  int fd_;
  socket_address address_;  // the kernel reads it while it connects
};

/// Sends all of `bytes`. After a failure or a cancellation a part of them may have been sent. One call at a
/// time per stream.
class [[nodiscard]] async_send_all final : private detail::io_waiter {
 public:
  async_send_all(reactor& loop, int fd, std::span<const std::byte> bytes, stop_token stop = {}) noexcept
      : io_waiter(&completed, loop, stop, "send", nullptr), loop_(loop), fd_(fd), rest_(bytes) {}

  bool await_ready() noexcept { return rest_.empty() || io_waiter::await_ready(); }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    suspend(handle);
    loop_.send(fd_, rest_, *this);
    heed_stop();
  }
  status await_resume() {
    if (outcome() < 0) return failure();
    return {};
  }

 private:
  static void completed(io_completion& done, const event& e) noexcept {
    static_cast<async_send_all&>(done).sent(e.result);
  }
  void sent(std::int32_t outcome) noexcept {
    if (outcome >= 0) rest_ = rest_.subspan(static_cast<std::size_t>(outcome));
    if (outcome < 0 || rest_.empty()) return finish(outcome);
    if (stopping()) return finish(-ECANCELED);
    loop_.send(fd_, rest_, *this);
  }

  reactor& loop_;
  int fd_;
  std::span<const std::byte> rest_;
};

}  // namespace scoll::transport
