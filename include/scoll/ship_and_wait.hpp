#pragma once

#include <type_traits>

#include "scoll/run_and_wait.hpp"
#include "scoll/ship/ship.hpp"

namespace scoll {

/// `ship` for threads that have nothing to do with the node's executor: blocks until the call has ended, as
/// `run_and_wait` does.
template <class In, class Out>
ship_result<Out> ship_and_wait(node& from, node_id to, const remote_function<In, Out>& f,
                               const std::type_identity_t<In>& argument, const ship_options& options = {}) {
  return run_and_wait(from, [&] { return ship(from, to, f, argument, options); });
}

}  // namespace scoll
