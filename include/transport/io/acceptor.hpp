#pragma once

#include <coroutine>
#include <cstdint>
#include <deque>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {

/// Accepts connections from a listening socket; each `next()` gives one. Connections that arrive between two
/// calls are kept. One coroutine at a time may use an acceptor. Call `close()` and await it before the
/// acceptor and the listener's descriptor are destroyed.
class acceptor final : private io_completion {
 public:
  acceptor(reactor& loop, int listener) noexcept
      : io_completion(&accepted), loop_(loop), listener_(listener) {}
  ~acceptor() = default;

  class [[nodiscard]] next_awaiter;
  class [[nodiscard]] close_awaiter;

  /// Gives the next connection. Errors: `cancelled`; `closed` after `close()`; otherwise the errno of the
  /// accept (out of descriptors, for instance). It may be called again after any error but `closed`.
  next_awaiter next(stop_token stop = {}) noexcept;
  /// Stops accepting and closes the connections that were not taken. A pending `next` gives `closed`.
  close_awaiter close() noexcept;

 private:
  static void accepted(io_completion& done, const event& e) noexcept;
  void wake() noexcept;

  reactor& loop_;
  int listener_;
  std::deque<unique_fd> arrived_;
  std::int32_t failure_ = 0;
  bool closed_ = false;
  next_awaiter* next_ = nullptr;
  close_awaiter* closing_ = nullptr;
};

class acceptor::next_awaiter final {
 public:
  next_awaiter(acceptor& owner, stop_token stop) noexcept
      : owner_(owner), stop_(stop), on_stop_(&stopped, this) {}
  next_awaiter(const next_awaiter&) = delete;
  next_awaiter& operator=(const next_awaiter&) = delete;

  bool await_ready() const noexcept {
    return stop_.stop_requested() || owner_.closed_ || owner_.failure_ != 0 || !owner_.arrived_.empty();
  }
  void await_suspend(std::coroutine_handle<> handle) noexcept;
  result<unique_fd> await_resume() noexcept;

 private:
  friend class acceptor;
  static void stopped(void* self) noexcept { static_cast<next_awaiter*>(self)->owner_.wake(); }

  acceptor& owner_;
  executor* executor_ = nullptr;
  stop_token stop_;
  stop_callback on_stop_;
  coroutine_node waiter_;
};

class acceptor::close_awaiter final {
 public:
  explicit close_awaiter(acceptor& owner) noexcept : owner_(owner) {}
  close_awaiter(const close_awaiter&) = delete;
  close_awaiter& operator=(const close_awaiter&) = delete;

  bool await_ready() noexcept;
  void await_suspend(std::coroutine_handle<> handle) noexcept;
  void await_resume() const noexcept {}

 private:
  friend class acceptor;
  acceptor& owner_;
  executor* executor_ = nullptr;
  coroutine_node waiter_;
};

}  // namespace scoll::transport
