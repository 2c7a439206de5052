#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/region_descriptor.hpp"
#include "transport/memory/transfer.hpp"

namespace scoll {

using transport::memory_access;
using transport::memory_region;
using transport::push_status;
using transport::region_descriptor;
using transport::transfer_options;

// These functions offer on a node what `transport` offers on an endpoint.

/// Lets peers read `memory`, or use it as `access` says, until the region is destroyed. Several segments
/// count as one linear range. Errors: `busy` (too many regions), `invalid_argument` (not a valid access
/// mode). The caller keeps the memory, which must outlive the region.
inline result<memory_region> expose(node& at, std::span<const std::byte> memory) {
  return memory_region::expose(at.wire(), memory);
}
inline result<memory_region> expose(node& at, std::span<std::byte> memory, memory_access access) {
  return memory_region::expose(at.wire(), memory, access);
}
inline result<memory_region> expose(node& at, std::span<const std::span<const std::byte>> segments) {
  return memory_region::expose(at.wire(), segments);
}
inline result<memory_region> expose(node& at, std::span<const std::span<std::byte>> segments,
                                    memory_access access) {
  return memory_region::expose(at.wire(), segments, access);
}

/// Copies `into.size()` bytes of a peer's memory, from byte `offset` on, into local memory: one span, or
/// several that are filled one after the other. Errors, lifetime and cancellation are those of
/// `transport::pull`.
inline task<status> pull(node& at, const region_descriptor& from, std::uint64_t offset,
                         std::span<std::byte> into, transfer_options options = {}) {
  return transport::pull(at.wire(), from, offset, into, options);
}
inline task<status> pull(node& at, const region_descriptor& from, std::uint64_t offset,
                         std::span<const std::span<std::byte>> into, transfer_options options = {}) {
  return transport::pull(at.wire(), from, offset, into, options);
}

/// Copies local memory, one span or several, to a peer's memory from byte `offset` on. Errors, lifetime and
/// cancellation are those of `transport::push`.
inline task<push_status> push(node& at, const region_descriptor& to, std::uint64_t offset,
                              std::span<const std::byte> from, transfer_options options = {}) {
  return transport::push(at.wire(), to, offset, from, options);
}
inline task<push_status> push(node& at, const region_descriptor& to, std::uint64_t offset,
                              std::span<const std::span<const std::byte>> from,
                              transfer_options options = {}) {
  return transport::push(at.wire(), to, offset, from, options);
}

}  // namespace scoll
