#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "../coro/assert.hpp"
#include "../coro/executor.hpp"
#include "ship.hpp"

namespace scoll {

namespace detail {

/// One call of another thread: handed over, run on the node's executor, and waited for.
template <class In, class Out>
class waited_call final : private posted_node {
 public:
  waited_call(node& from, node_id to, const scoll::function<In, Out>& f, const In& argument,
              nanoseconds deadline)
      : posted_node(&arrived), from_(from), to_(to), function_(f), argument_(argument) {
    options_.deadline = deadline;
  }
  ~waited_call() = default;

  ship_result<Out> wait() {
    from_.get_shipper().get_executor().post(*this);
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return result_.has_value(); });
    return std::move(*result_);
  }

 private:
  static void arrived(posted_node& self) noexcept {
    auto& call = static_cast<waited_call&>(self);
    call.from_.get_shipper().background().spawn(call.run());
  }
  task<void> run() {
    auto ended = co_await ship(from_, to_, function_, argument_, options_);
    const std::lock_guard lock(mutex_);  // the other thread leaves, and takes this away, after it
    result_.emplace(std::move(ended));
    ended_.notify_one();
  }

  node& from_;
  node_id to_;
  const scoll::function<In, Out>& function_;
  const In& argument_;
  ship_options options_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::optional<ship_result<Out>> result_;
};

}  // namespace detail

/// `ship` for threads that have nothing to do with the node's executor: hands the call over to it and blocks
/// until it has ended. Not on the executor's own thread, which would wait for itself. The node must not be
/// shut down meanwhile, and its executor must run.
template <class In, class Out>
ship_result<Out> ship_and_wait(node& from, node_id to, const function<In, Out>& f,
                               const std::type_identity_t<In>& argument,
                               nanoseconds deadline = nanoseconds::max()) {
  SCOLL_ASSERT(executor::current_or_null() != &from.get_shipper().get_executor(),
               "ship_and_wait was called on the executor that would have to run the call");
  detail::waited_call<In, Out> call(from, to, f, argument, deadline);
  return call.wait();
}

}  // namespace scoll
