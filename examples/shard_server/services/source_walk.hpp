#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../store/object_name.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/worker_pool.hpp"

namespace shard {

/// The goal of a walk: the files of `folder` that one server owns.
struct walk_order {
  std::string folder;  ///< absolute
  placement place;
  std::uint64_t max_objects = 0;  ///< the limit for all members together
  std::uint64_t max_bytes = 0;
};

struct walk_result {
  std::vector<std::string> files;  ///< absolute paths
  std::uint64_t unreadable = 0;
  bool limit_reached = false;
};

/// Returns the name of the object that a file becomes.
std::string object_name_of(std::string_view path);

/// Walks a folder in the order of names, so that all servers see the same files and stop at the same one. It
/// blocks, so run it on a worker. Errors: `cancelled`, `io_error`.
scoll::result<walk_result> walk(const walk_order& order, const scoll::cancel_flag& flag);

}  // namespace shard
