#pragma once

#include <type_traits>
#include <utility>

#include "../coro/scope.hpp"
#include "ship.hpp"

namespace scoll {

namespace detail {

template <class In, class Out, class Done>
task<void> ship_and_tell(node& from, node_id to, const function<In, Out>& f, In argument,
                         ship_options options, Done done) {
  auto ended = co_await ship(from, to, f, argument, options);
  done(std::move(ended));
}

}  // namespace detail

/// `ship` for programs without coroutines: calls `done(ship_result<Out>)` on the node's executor when the
/// call has ended, never from inside this function. Called on that executor's thread. The call belongs to
/// `within`, whose join awaits it. `f` is a constant; `done` must not throw.
template <class In, class Out, class Done>
  requires std::is_invocable_v<Done&, ship_result<Out>>
void ship_then(scope& within, node& from, node_id to, const function<In, Out>& f,
               std::type_identity_t<In> argument, Done done, const ship_options& options = {}) {
  within.spawn(
      detail::ship_and_tell<In, Out, Done>(from, to, f, std::move(argument), options, std::move(done)));
}

}  // namespace scoll
