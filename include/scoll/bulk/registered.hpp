#pragma once

#include <cstddef>
#include <span>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"
#include "transport/memory/registered_memory.hpp"

namespace scoll {

using transport::registered_memory;

/// Registers memory with the hardware of the node's transports, so that bulk data moves from and to it
/// without a copy where they can do that (`transport::register_memory`, docs/bulk.md). The memory must stay
/// valid until `registered_memory::release` has returned. Errors: `already_exists` (a part of it is
/// registered), and those of the transports.
inline task<result<registered_memory>> register_memory(
    node& at, std::span<std::byte> memory,
    transport::memory_access access = transport::memory_access::read_write) {
  return transport::register_memory(at.wire(), memory, access);
}

}  // namespace scoll
