#pragma once

#include <type_traits>
#include <utility>

#include "scoll/run_then.hpp"
#include "scoll/ship/ship.hpp"

namespace scoll {

/// `ship` for programs without coroutines: calls `done(ship_result<Out>)` when the call has ended, as
/// `run_then` does. `f` is a constant.
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
