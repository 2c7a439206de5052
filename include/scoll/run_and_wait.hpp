#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/node.hpp"
#include "scoll/run_then.hpp"

namespace scoll {

namespace detail {

/// Work of another thread: handed over, run on the node's executor, and waited for.
template <class Make>
class waited_work final : private posted_node {
 public:
  waited_work(node& at, Make& make) : posted_node(&arrived), at_(at), make_(make) {}
  ~waited_work() = default;

  given_by<Make> wait() {
    at_.get_executor().post(*this);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return result_.has_value(); });
    return std::move(*result_);
  }

 private:
  static void arrived(posted_node& self) noexcept {
    auto& work = static_cast<waited_work&>(self);
    work.at_.background().spawn(work.run());
  }
  task<void> run() {
    auto ended = co_await make_();
    const std::lock_guard lock(mutex_);  // the other thread leaves, and takes this away, after it
    result_.emplace(std::move(ended));
    ended_.notify_one();
  }

  node& at_;
  Make& make_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<given_by<Make>> result_;
};

}  // namespace detail

/// For threads that have nothing to do with the node's executor: has that executor call `make` and await what
/// it returns, such as `ship(...)`, `notify(...)`, `pull(...)` or a task of one's own, blocks until that has
/// ended, and gives its value. Not on the executor's own thread, which would wait for itself. The node must
/// not be shut down meanwhile, and its executor must run.
///
/// A stop token in the options works: its source is asked on the executor's thread, as always.
template <class Make>
detail::given_by<Make> run_and_wait(node& at, Make make) {
  SCOLL_ASSERT(executor::current_or_null() != &at.get_executor(),
               "run_and_wait was called on the executor that would have to run the work");
  detail::waited_work<Make> work(at, make);
  return work.wait();
}

}  // namespace scoll
