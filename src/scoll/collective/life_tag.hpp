#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::detail {

/// Says in a request which life of a member may execute it. A member of an out-of-band group, or of a delayed one,
/// may be a new life, which does not know what the lives before it have executed.
using life_tag = std::uint32_t;

/// No life of the member may execute; it can only tell what it has done before.
inline constexpr life_tag for_no_life = 0;
/// Whichever life the request reaches may execute.
inline constexpr life_tag for_any_life = 1;

/// The tag of one life: a hash of 32 bits.
inline life_tag tag_of_life(std::uint64_t incarnation) noexcept {
  std::array<std::byte, sizeof incarnation> bytes{};
  wire::detail::store_little(bytes.data(), incarnation);
  return std::max(static_cast<life_tag>(wire::checksum(bytes)), for_any_life + 1);
}

/// The tags of a request as they lie on the wire: their number, then one for each member that it is for, in the order
/// of the ranks.
class life_tags {
 public:
  /// The bytes that the tags of so many members take.
  static constexpr std::size_t bytes_of(std::uint32_t members) noexcept {
    return sizeof(life_tag) * (std::size_t{members} + 1);
  }

  /// Finds the tags at the front of `bytes`. Error: `malformed`, unless there are as many as members.
  static result<life_tags> read(std::span<const std::byte> bytes, std::uint32_t members) {
    const life_tags found(bytes);
    if (bytes.size() >= bytes_of(members) && found.at(0) == members) return found;
    return make_error(errc::malformed, "the request does not name the lives of its {} members", members);
  }

  /// Writes `tag_of(index)` for each member. Returns the end of what it has written.
  template <class TagOf>
  static std::byte* write(std::byte* at, std::uint32_t members, TagOf&& tag_of) {
    wire::detail::store_little(at, members);
    for (std::uint32_t index = 0; index != members; ++index)
      wire::detail::store_little(at += sizeof(life_tag), life_tag{tag_of(index)});
    return at + sizeof(life_tag);
  }

  life_tag operator[](std::uint32_t index) const noexcept { return at(std::size_t{index} + 1); }

 private:
  explicit life_tags(std::span<const std::byte> encoded) noexcept : encoded_(encoded) {}
  life_tag at(std::size_t place) const noexcept {
    return wire::detail::load_little<life_tag>(encoded_.data() + place * sizeof(life_tag));
  }

  std::span<const std::byte> encoded_;
};

}  // namespace scoll::detail
