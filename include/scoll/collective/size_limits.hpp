#pragma once

#include <cstddef>

#include "transport/session/frame.hpp"

namespace scoll {

/// The most bytes that the request of a broadcast may have, encoded.
inline constexpr std::size_t max_request_bytes = 4096;
/// The most bytes of any collective message, be it a request or a membership, with its head.
inline constexpr std::size_t max_collective_bytes = 8192;
/// The bytes that every reply keeps free for the account of the members' states.
inline constexpr std::size_t account_reserve_bytes = 8192;
/// The most bytes that a merged reply may have, encoded: the limit of `reply_capacity`.
inline constexpr std::size_t max_reply_bytes = transport::max_payload_bytes - account_reserve_bytes - 64;
/// The most bytes that one item of a streamed reply may have, encoded.
inline constexpr std::size_t max_item_bytes = transport::max_payload_bytes - 64;
/// The `reply_capacity` of a service that states none and whose reply has no fixed size.
inline constexpr std::size_t default_reply_capacity = 16384;

}  // namespace scoll
