#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "scoll/ids.hpp"
#include "transport/session/greeting.hpp"

namespace scoll::detail {

/// The node that is in no group and has a member broadcast for it. It follows the other heads of the request
/// (docs/wire.md), so that every member knows who asks.
struct broadcast_caller {
  std::uint64_t id = 0;
  std::uint8_t name_bytes = 0;
  std::array<char, transport::max_client_name_bytes> name_room{};

  static broadcast_caller of(node_id id, std::string_view name) noexcept {
    broadcast_caller made;
    made.id = id;
    made.name_bytes = static_cast<std::uint8_t>(std::min(name.size(), made.name_room.size()));
    std::copy_n(name.begin(), made.name_bytes, made.name_room.begin());
    return made;
  }
  std::string_view name() const noexcept { return {name_room.data(), name_bytes}; }
};

constexpr bool wire_valid(const broadcast_caller& said) noexcept {
  return said.id != 0 && said.name_bytes <= said.name_room.size();
}

}  // namespace scoll::detail
