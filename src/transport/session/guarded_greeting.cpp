#include "transport/session/guarded_greeting.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "scoll/coro/mutants.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/greeting_room.hpp"

namespace scoll::transport::guarded_greeting {
namespace {

/// Writes the steps of the guard behind `frames[0, count)`, in one batch.
void write_behind(link& l, std::span<frame_parts> frames, std::size_t count) noexcept {
  std::array<std::array<std::byte, frame_header_bytes>, link_guard::most_steps> heads;
  std::span<const std::byte> left = l.guard()->unsent();
  frame_header header;
  header.type = frame_type::secure;
  for (std::size_t i = 0; !left.empty() && count < frames.size(); ++i) {
    const auto step = left.first(std::min(left.size(), link_guard::most_step_bytes));
    frames[count++] = encode_control(heads[i], header, step);
    left = left.subspan(step.size());
  }
  l.write(frames.first(count));
  l.guard()->forget_unsent();
  l.flush();
}

}  // namespace

status begin(link& l, link_security& by, lane_id lane) noexcept {
  hello said;
  said.lane = static_cast<std::uint8_t>(lane);
  auto guard = by.connect(said);
  if (!guard) return guard.error();
  l.set_guard(std::move(*guard));
  greeting_room opening;
  frame_header header;
  header.type = frame_type::hello;
  std::array<frame_parts, 1 + link_guard::most_steps> frames;
  frames[0] = opening.encode(header, said);
  write_behind(l, frames, 1);
  return {};
}

bool write_steps(link& l) noexcept {
  if (l.guard()->unsent().empty()) return true;
  if (!l.writable()) {
    l.flush();
    return false;
  }
  std::array<frame_parts, link_guard::most_steps> frames;
  write_behind(l, frames, 0);
  return true;
}

status take(link& l, const frame_view& frame) noexcept {
  link_guard& guard = *l.guard();
  if (frame.header.type != frame_type::secure)
    return error(errc::not_authentic, "a frame in the clear on a connection that must be guarded");
  const bool announced = frame.payload.bytes.empty() && !guard.announces();
  if (!announced) return guard.take_step(frame.payload.bytes);
  if (!guard.proven()) return error(errc::malformed, "a guard is announced that has proven nothing");
  guard.open_from_now();
  return {};
}

bool advance(link& l) noexcept {
  link_guard& guard = *l.guard();
  if (guard.sealing() || !write_steps(l) || !guard.proven()) return false;
  if (!l.writable()) {
    l.flush();
    return false;
  }
  guard.seal_from_now();
  // Nothing follows but frames in the clear, so none has to announce the first record.
  if (!l.can_seal()) guard.open_from_now();
  return true;
}

status check(const link& l, const identity& said, std::string_view cluster) noexcept {
  const link_guard* const guard = l.guard();
  const link_guard::channel_hash none{};
  if (said.channel != (guard == nullptr ? none : guard->channel()) &&
      !SCOLL_MUTANT(guard_channel_uncompared, "an identity is taken on any connection"))
    return error(errc::not_authentic, "the identity belongs to another connection");
  if (guard == nullptr || SCOLL_MUTANT(certificate_unread, "a certificate speaks for every node")) return {};
  return guard->speaks_for(cluster, said.node);
}

}  // namespace scoll::transport::guarded_greeting
