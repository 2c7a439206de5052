#pragma once

#include <cstdint>

namespace scoll::detail {

/// The reason why an operation ends before every answer is in. The first one stays.
enum class end_cause : std::uint8_t {
  none,
  cancelled,    ///< by the caller, or by the parent for its own reason
  failed,       ///< a member is settled otherwise than merged, and the broadcast is to fail fast
  given,        ///< the result has been given out, and the rest is to stop
  deadline,     ///< the time is over
  group_ended,  ///< the group has been destroyed, or has ended with its creator
  closing,      ///< this node shuts down, or the service is being closed
  revoked,      ///< the group was revoked
  root_dead,    ///< nobody awaits the answer any more
};

/// True if the answer leaves at once, and children are told to stop without waiting for what they have done.
constexpr bool ends_at_once(end_cause cause) noexcept {
  return cause == end_cause::deadline || cause == end_cause::revoked || cause == end_cause::root_dead;
}

}  // namespace scoll::detail
