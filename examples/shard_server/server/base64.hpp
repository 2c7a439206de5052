#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shard {

/// RFC 4648, with padding: how bytes travel in the JSON of the control socket.
std::string to_base64(std::span<const std::byte> bytes);
/// Nothing if the text is not what `to_base64` would have written.
std::optional<std::vector<std::byte>> from_base64(std::string_view text);

}  // namespace shard
