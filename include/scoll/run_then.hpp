#pragma once

#include <type_traits>
#include <utility>

#include "scoll/coro/scope.hpp"
#include "scoll/coro/task.hpp"

namespace scoll {

namespace detail {

/// What awaiting an A gives.
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

}  // namespace detail

/// Awaits for programs without coroutines: awaits what `make()` returns, such as `ship(...)`, `notify(...)`,
/// `pull(...)` or a task of one's own, and calls `done` with what that gave, on the scope's executor and
/// never from inside this function. Called on that executor's thread. `make`, with what it has captured,
/// lives until then; the work belongs to `within`, whose join awaits it. `done` must not throw.
///
/// ```cpp
/// run_then(work, [&] { return notify(node, peer, forget, 7); }, [](const ship_result<nothing>& r) { ... });
/// ```
template <class Make, class Done>
  requires std::is_invocable_v<Done&, detail::given_by<Make>>
void run_then(scope& within, Make make, Done done) {
  within.spawn(detail::run_and_tell<Make, Done>(std::move(make), std::move(done)));
}

}  // namespace scoll
