#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll {

/// What becomes of a broadcast to members that are known to be dead.
enum class dead_members : std::uint8_t {
  refuse,      ///< nothing is sent, and the answer names them
  try_others,  ///< those who can be reached execute; the dead, and who is below them in the tree, are not
               ///< reached
};

/// Options of one broadcast. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct bcast_options {
  /// Time for the whole broadcast. Each level of the tree keeps a margin of it, so that a parent answers
  /// before its own parent gives up. Without a limit, the cascading timeouts of the processing bound apply. A
  /// limit that is over, or too short for the depth of the tree, fails at once.
  time_limit deadline{};
  /// How long one member may take, without its subtree: the service's bound if 0. Not used with a deadline.
  nanoseconds processing_bound{0};
  /// Asked to stop, the broadcast ends with `cancelled`, and members are told.
  stop_token stop{};
  /// What becomes of it if members are known to be dead; `node_options::default_dead_members` if not set.
  std::optional<dead_members> dead{};
  /// In a broadcast to `group::alive()`: members who see others alive than this node do not execute
  /// (`view_differs`). Otherwise they do, and the outcome says that they dissent.
  bool same_view = false;
};
static_assert(std::is_trivially_copyable_v<bcast_options>);

/// Options of a group. Trivially copyable.
struct group_options {
  /// How broadcasts spread; the node's default if not set.
  std::optional<tree_spec> tree{};
  /// Time for the creation. Without a limit, the cascading timeouts of the library's own service apply.
  time_limit deadline = std::chrono::seconds(10);
};
static_assert(std::is_trivially_copyable_v<group_options>);

}  // namespace scoll
