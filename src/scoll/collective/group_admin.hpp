#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/detail/service_table.hpp"

namespace scoll::detail {

/// The library's own service. Creating and forgetting groups are broadcasts whose `execute` has nothing left
/// to do.
const service_table& group_admin_table() noexcept;
void* group_admin_instance() noexcept;

/// A membership is encoded as varints: for each target the difference of its node id to the one before
/// (zigzag), the number of entities, and 16 bytes for each entity.
result<std::size_t> encode_membership(const void* members, std::span<std::byte> into) noexcept;
result<std::size_t> encode_nothing(const void* nothing, std::span<std::byte> into) noexcept;
std::size_t membership_bytes(const membership& members) noexcept;
result<std::vector<target>> decode_membership(std::span<const std::byte> bytes);

}  // namespace scoll::detail
