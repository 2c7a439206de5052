#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scoll/collective/group_name.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/ids.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::detail {

/// The properties of a group that its creation carries besides the members. The id, the service and the tree
/// are in the head of the message.
struct creation_terms {
  lifetime ends_with = lifetime::creator;
  std::optional<group_id> within;  ///< the group that this one ends with
  group_name name;
  bool inline_only = false;  ///< no holder offers the members by descriptor

  friend bool operator==(const creation_terms&, const creation_terms&) = default;
};

/// The forms in which the members of a group travel in its creation.
enum class creation_form : std::uint8_t {
  members = 0,       ///< the members themselves
  descriptor = 1,    ///< a descriptor of memory at the sender that holds the encoded members
  members_only = 2,  ///< as `members`, and nobody may offer them by descriptor
};

/// The creation of a group as it arrived.
struct creation_section {
  creation_terms terms;
  std::vector<target> targets;                            ///< empty if the members are elsewhere
  std::optional<transport::region_descriptor> elsewhere;  ///< where the encoded members can be pulled
};

/// The most bytes of a creation whose members are elsewhere, at the sender.
inline constexpr std::size_t max_descriptor_creation_bytes =
    4 + sizeof(group_id) + group_name::most_bytes + 38;

/// Writes a creation with its members, or with a descriptor that has no keys. Error: `too_large`, naming the
/// sizes.
result<std::size_t> encode_creation(const creation_terms& terms, const membership& members,
                                    std::span<std::byte> into) noexcept;
result<std::size_t> encode_creation(const creation_terms& terms,
                                    const transport::region_descriptor& elsewhere,
                                    std::span<std::byte> into) noexcept;
/// The bytes that the first of these writes.
std::size_t creation_bytes(const creation_terms& terms, const membership& members) noexcept;

/// The bytes that the second of these writes.
std::size_t descriptor_creation_bytes(const creation_terms& terms) noexcept;

/// Reads a creation from a peer. Error: `malformed`.
result<creation_section> decode_creation(std::span<const std::byte> bytes);

}  // namespace scoll::detail
