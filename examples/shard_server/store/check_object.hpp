#pragma once

#include <string>

#include "object_store.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/worker_pool.hpp"

namespace shard {

/// Reads an object and hashes it on the pool. Gives what is wrong with it, for a person, or "" if nothing is.
/// Errors are only those that say nothing about the object: `cancelled`, `busy`, `closed`.
scoll::task<scoll::result<std::string>> find_damage(object_store& store, object_record record,
                                                    scoll::worker_pool& pool, scoll::stop_token stop);

}  // namespace shard
