#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "scoll/collective/creation_statement.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/detail/service_table.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::detail {

/// The library's own service. Creating and forgetting groups are broadcasts whose `execute` has nothing left
/// to do.
const service_table& group_admin_table() noexcept;
void* group_admin_instance() noexcept;

/// A membership is encoded as varints: for each target the difference of its node id to the one before
/// (zigzag), the number of entities, and 16 bytes for each entity. If any place is known, the zones of all
/// targets follow, then their hosts, each as runs of equal ones: the length, and the zone or host.
void put_membership(wire::writer& out, const membership& members);
result<std::size_t> encode_membership(const void* members, std::span<std::byte> into) noexcept;
/// The request to forget a group: how long the group was to live (u8) and, if its creator ends it, the
/// creator's statement.
struct forget_request {
  lifetime ends_with = lifetime::creator;
  std::optional<creation_statement> said;
};
inline constexpr std::size_t max_forget_bytes = 1 + max_statement_bytes;
result<std::size_t> encode_forget(const forget_request& what, std::span<std::byte> into) noexcept;
result<forget_request> decode_forget(std::span<const std::byte> bytes);

std::size_t membership_bytes(const membership& members) noexcept;
result<std::vector<target>> decode_membership(std::span<const std::byte> bytes);

}  // namespace scoll::detail
