#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/coro/result.hpp"
#include "transport/memory/memory_region.hpp"

namespace scoll::detail {

/// The encoded members of a group, which peers can pull as long as this object lives.
struct offered_members {
  std::vector<std::byte> bytes;
  transport::memory_region region;
};

/// Encodes and exposes the members. Error: `busy` (too many regions).
result<std::shared_ptr<offered_members>> offer_members(transport::endpoint& at, const membership& members);
/// Exposes members that are encoded already.
result<std::shared_ptr<offered_members>> offer_members(transport::endpoint& at,
                                                       std::vector<std::byte> encoded);

}  // namespace scoll::detail
