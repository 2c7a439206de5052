#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "scoll/ids.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::detail {

/// The kinds of notices about a group.
enum class notice_kind : std::uint8_t {
  revoked = 0,  ///< broadcasts of the group, and calls made through it, end; the group stays
  ended = 1,    ///< the group has been destroyed
};

/// The head of a notice of the collectives; it follows the exchange's envelope (docs/wire.md).
struct notice_head {
  static constexpr std::size_t text_bytes = 64;

  std::uint8_t kind = 0;
  /// A `lifetime`: whether the group ends with its creator.
  std::uint8_t ends_with = 0;
  group_id group;
  /// The node that has revoked or ended the group, and its incarnation then.
  std::uint64_t by = 0;
  std::uint64_t life = 0;
  /// The application's own number.
  std::uint32_t reason = 0;
  /// The tree, rooted at that node, whose children each member tells first.
  std::uint8_t tree_kind = 0;
  tree_params tree{};
  /// The rank of that node.
  std::uint32_t initiator = 0;
  /// For people; zeros follow it.
  std::array<char, text_bytes> text{};

  std::string_view words() const noexcept {
    const auto end = std::find(text.begin(), text.end(), '\0');
    return {text.data(), static_cast<std::size_t>(end - text.begin())};
  }
  /// Keeps as many whole characters of `from` as there is room for.
  void say(std::string_view from) noexcept {
    std::size_t size = std::min(from.size(), text_bytes);
    while (size < from.size() && size > 0 && (static_cast<unsigned char>(from[size]) & 0xc0) == 0x80) --size;
    text = {};
    std::copy_n(from.begin(), size, text.begin());
  }
};

}  // namespace scoll::detail
