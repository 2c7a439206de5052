#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/reactor.hpp"

namespace scoll::transport {

/// Threads for file operations that would block a reactor. There are none before the first operation, and
/// never more than `most_threads`; further operations wait for a free one.
class file_workers final : private posted_node {
 public:
  static constexpr std::size_t most_threads = 4;
  /// The home executor calls this in its turn for each finished operation, whose outcome is in `result`.
  using handler = void (*)(void* owner, detail::io_slot& s) noexcept;

  file_workers(executor& home, handler returned, void* owner) noexcept
      : posted_node(&arrived), home_(home), returned_(returned), owner_(owner) {}
  ~file_workers() { join(); }
  file_workers(const file_workers&) = delete;
  file_workers& operator=(const file_workers&) = delete;

  /// Hands an operation to a thread. The slot and what it points to must stay until it has returned. The
  /// result is 0, or the errno that says why there is no thread.
  int submit(detail::io_slot& s) noexcept;
  /// Ends the threads. No operation may be under way.
  void join() noexcept;

 private:
  static void arrived(posted_node& node) noexcept;
  int ensure_thread() noexcept;
  void work() noexcept;

  executor& home_;
  handler returned_;
  void* owner_;
  std::vector<std::thread> threads_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable wake_;
  intrusive_list<detail::io_slot> waiting_;
  intrusive_list<detail::io_slot> done_;
  std::size_t waiting_count_ = 0;
  std::size_t idle_ = 0;
  bool closing_ = false;
};

}  // namespace scoll::transport
