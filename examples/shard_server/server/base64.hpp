#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shard {

/// Encodes as RFC 4648 says, with padding. Bytes travel this way in the JSON of the control socket.
std::string to_base64(std::span<const std::byte> bytes);
/// Returns nothing if `to_base64` would not have written this text.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace shard
