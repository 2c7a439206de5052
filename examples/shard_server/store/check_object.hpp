#pragma once

#include <string>

#include "object_store.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/worker_pool.hpp"

namespace shard {

/// Reads an object and hashes it on the pool. Returns a description of the damage for a person, or "" if the
/// object is intact. Only failures that say nothing about the object are errors: `cancelled`, `busy`,
/// `closed`.
scoll::task<scoll::result<std::string>> find_damage(object_store& store, object_record record,
                                                    scoll::worker_pool& pool, scoll::stop_token stop);

}  // namespace shard
