#pragma once

#include <cstdint>

#include "scoll/coro/error.hpp"
#include "scoll/ship/remote_function.hpp"

namespace scoll::detail {

/// The head of every call; it follows the exchange's envelope (docs/wire.md).
struct ship_head {
  static constexpr std::uint8_t notification = 1;  ///< answered when the call is admitted
  static constexpr std::uint8_t large = 2;         ///< the payload is the descriptor of the argument

  std::uint8_t flags = 0;
  std::uint64_t function = 0;
  types_digest types;
  std::uint64_t remaining_ns = 0;  ///< how long the caller waits; 0: no deadline
};

/// The content of an answer's payload.
enum class ship_outcome : std::uint8_t {
  /// The encoded result.
  value = 0,
  /// The text of the handler's error.
  error = 1,
  /// The descriptor of the result, which is kept until the caller says that it has fetched it.
  large = 2,
  /// The function here (`function_text`): its types differ from the caller's, and it did not run.
  other_types = 3,
};
constexpr bool wire_valid(const ship_outcome& o) noexcept {
  return o <= ship_outcome::other_types;
}

/// The head of every answer of a handler.
struct ship_reply_head {
  ship_outcome outcome = ship_outcome::value;
  std::uint8_t domain = 0;  ///< the domain of an error
  std::uint16_t code = 0;
  std::int32_t detail = 0;
};

}  // namespace scoll::detail
