#pragma once

#include <dirent.h>

#include <chrono>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "scoll/coro/task.hpp"
#include "tests/catch.hpp"
#include "transport/io/reactor.hpp"

/// Runs coroutines and bare completions on a real reactor.
namespace on_reactor {

using scoll::nanoseconds;
using scoll::transport::io_completion;
using scoll::transport::reactor;
using scoll::transport::reactor_options;

inline std::unique_ptr<reactor> make(reactor_options options = {}) {
  options.announce = false;
  auto made = reactor::create(options);
  if (!made) FAIL(made.error().text());
  return std::move(*made);
}

/// True if reactors use poll here, because the environment says so or io_uring is not available.
inline bool on_poll() {
  static const bool poll = make()->features().backend == "poll";
  return poll;
}

/// Generates the reactor setups that every test of an operation uses. Poll has only one.
inline std::uint32_t any_setup() {
  if (on_poll()) return 0;
  namespace off = scoll::transport::reactor_disable;
  return GENERATE(0U, off::defer_taskrun, off::single_issuer | off::registered_ring_fd,
                  off::cooperative_taskrun, off::multishot_receive | off::multishot_accept,
                  off::cooperative_taskrun | off::provided_buffer_ring | off::multishot_accept);
}

/// Runs turns until `done()`; fails the test if that takes too long.
template <class Done>
void turn_until(reactor& r, Done done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!done()) {
    r.run_once(std::chrono::milliseconds(100));
    if (std::chrono::steady_clock::now() > limit) FAIL("the reactor made no progress");
  }
}

/// Runs turns that do not wait, until no turn does anything more.
inline void settle(reactor& r) {
  for (int quiet = 0; quiet < 20;) quiet = r.run_once(nanoseconds::zero()) ? 0 : quiet + 1;
}

/// Records every completion.
class recorder : public io_completion {
 public:
  recorder() noexcept : io_completion(&note) {}
  ~recorder() = default;

  std::vector<std::int32_t> results;
  bool ended = false;

 private:
  static void note(io_completion& done, const event& e) noexcept {
    auto& self = static_cast<recorder&>(done);
    self.results.push_back(e.result);
    self.ended = !e.more;
  }
};

/// A coroutine that owns itself and reports its end.
class root {
 public:
  struct promise_type {
    root get_return_object() noexcept {
      return root(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  root(root&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  root& operator=(root&&) = delete;
  ~root() {
    if (handle_) handle_.destroy();
  }
  std::coroutine_handle<> handle() const noexcept { return handle_; }
  bool done() const noexcept { return handle_.done(); }

 private:
  explicit root(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

inline root drive(scoll::task<> work) {
  co_await std::move(work);
}

template <class T>
scoll::task<> keep(scoll::task<T> work, std::optional<T>& value) {
  value.emplace(co_await std::move(work));
}

/// Coroutines that run concurrently.
class group {
 public:
  explicit group(reactor& r) noexcept : reactor_(r) {}

  void start(scoll::task<> work) {
    auto& r = running_.emplace_back(drive(std::move(work)), nullptr);
    r.second = std::make_unique<scoll::coroutine_node>(r.first.handle());
    reactor_.schedule(*r.second);
  }
  bool done() const {
    for (const auto& r : running_) {
      if (!r.first.done()) return false;
    }
    return true;
  }
  void join() {
    turn_until(reactor_, [this] { return done(); });
  }

 private:
  reactor& reactor_;
  std::deque<std::pair<root, std::unique_ptr<scoll::coroutine_node>>> running_;
};

inline void run(reactor& r, scoll::task<> work) {
  group one(r);
  one.start(std::move(work));
  one.join();
}

template <class T>
T run(reactor& r, scoll::task<T> work) {
  std::optional<T> value;
  run(r, keep(std::move(work), value));
  return std::move(*value);
}

/// Returns how many descriptors this process has open.
inline int open_descriptors() {
  int count = 0;
  DIR* const directory = opendir("/proc/self/fd");
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}

}  // namespace on_reactor
