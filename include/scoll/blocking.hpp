#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"
#include "scoll/ship/ship.hpp"

/// For code without coroutines: `run_and_wait` and `ship_and_wait` block the calling thread, `run_then` and
/// `ship_then` call back.
namespace scoll {

namespace detail {

/// The type of the value that awaiting an `A` gives.
template <class A>
struct awaited_value {
  using type = decltype(std::declval<A&>().await_resume());
};
template <class T>
struct awaited_value<task<T>> {
  using type = T;
};
template <class Make>
using given_by = typename awaited_value<std::invoke_result_t<Make&>>::type;

template <class Make, class Done>
task<void> run_and_tell(Make make, Done done) {
  auto ended = co_await make();
  done(std::move(ended));
}

/// Work that another thread hands over: it runs on the node's executor, and the other thread waits for it.
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
    const std::lock_guard lock(mutex_);  // the waiting thread destroys this object once it has the lock
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

/// Lets the node's executor call `make` and await what it returns, such as `ship(...)`, `notify(...)`,
/// `pull(...)` or a task of your own. It blocks the calling thread until that has ended, and returns its
/// value. Errors are those of the awaited operation. A stop token in its options works, but its source must
/// be asked on the executor's thread, as always.
///
/// The node must not be shut down meanwhile, and its executor must run on another thread. On the executor's
/// own thread the process ends with a message, because the call would wait for itself: use `co_await` or
/// `run_then` there.
template <class Make>
detail::given_by<Make> run_and_wait(node& at, Make make) {
  SCOLL_ASSERT(!at.get_executor().runs_here(),
               "run_and_wait or ship_and_wait was called on the thread of the executor that would have to do "
               "the work, and would wait for itself: co_await the work there, or use run_then or ship_then");
  detail::waited_work<Make> work(at, make);
  return work.wait();
}

/// Like `ship`, for threads that do not run the node's executor: it blocks until the call has ended, as
/// `run_and_wait` does.
template <class In, class Out>
ship_result<Out> ship_and_wait(node& from, node_id to, const remote_function<In, Out>& f,
                               const std::type_identity_t<In>& argument, const ship_options& options = {}) {
  return run_and_wait(from, [&] { return ship(from, to, f, argument, options); });
}

/// Awaits what `make()` returns, such as `ship(...)`, `notify(...)`, `pull(...)` or a task of your own, and
/// calls `done` with its value. `done` runs on the scope's executor, never from inside this function, and
/// must not throw. `make` and its captures live until then. The work belongs to `within`, whose join awaits
/// it. Call it on that executor's thread.
///
/// ```cpp
/// run_then(work, [&] { return notify(node, peer, forget, 7); }, [](const ship_result<nothing>& r) { ... });
/// ```
template <class Make, class Done>
  requires std::is_invocable_v<Done&, detail::given_by<Make>>
void run_then(scope& within, Make make, Done done) {
  within.spawn(detail::run_and_tell<Make, Done>(std::move(make), std::move(done)));
}

/// Like `ship`, for programs without coroutines: it calls `done(ship_result<Out>)` when the call has ended,
/// as `run_then` does. `f` must be a constant.
template <class In, class Out, class Done>
  requires std::is_invocable_v<Done&, ship_result<Out>>
void ship_then(scope& within, node& from, node_id to, const remote_function<In, Out>& f,
               std::type_identity_t<In> argument, Done done, const ship_options& options = {}) {
  run_then(
      within,
      [&from, to, &f, argument = std::move(argument), options] {
        return ship(from, to, f, argument, options);
      },
      std::move(done));
}

}  // namespace scoll
