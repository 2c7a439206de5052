#include "transport/session/link_guard.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/frame.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

status link_guard::take_step(std::span<const std::byte> from_peer) noexcept {
  unsent_ = {};
  if (++steps_ > most_steps && !SCOLL_MUTANT(guard_steps_unbounded, "a guard takes any number of steps"))
    return make_error(errc::malformed, "more than {} steps of a guard", most_steps);
  if (from_peer.size() > most_step_bytes &&
      !SCOLL_MUTANT(guard_step_bytes_unbounded, "a guard takes steps of any length")) {
    return make_error(errc::malformed, "a step of a guard has {} bytes: {} are allowed", from_peer.size(),
                      most_step_bytes);
  }
  return on_step(from_peer);
}

/// The announcement is a `secure` frame without payload, the last frame in the clear.
std::size_t link_guard::seal(std::span<const std::byte> plain, std::span<std::byte> into) noexcept {
  std::size_t before = 0;
  if (announces() && !std::exchange(announced_, true)) {
    frame_header header;
    header.type = frame_type::secure;
    header.payload_checksum = wire::checksum({});
    encode_frame_header(into, header);
    before = frame_header_bytes;
  }
  const std::size_t sealed = seal_records(plain, into.subspan(before));
  return sealed == 0 ? 0 : before + sealed;
}

}  // namespace scoll::transport
