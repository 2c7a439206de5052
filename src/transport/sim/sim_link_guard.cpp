#include <algorithm>

#include "transport/sim/batch_bytes.hpp"
#include "transport/sim/sim_link.hpp"
#include "transport/wire/checksum.hpp"

// What the guard of a connection, or somebody on the way, does to bytes.
namespace scoll::testing {
namespace {

using transport::frame_header_bytes;
using transport::frame_type;
using transport::link_guard;

/// A frame of a greeting that has a payload.
bool can_be_forged(const transport::frame_parts& f) noexcept {
  const auto header = transport::decode_frame_header(f.head.first<frame_header_bytes>());
  return header && !f.payload.empty() &&
         (header->type == frame_type::hello || header->type == frame_type::secure);
}

}  // namespace

/// Seals a batch, lent memory too, a part of at most a batch at a time.
std::span<const std::byte> sim_link::sealed(std::span<const transport::frame_parts> frames) noexcept {
  std::vector<std::byte>& plain = network().plain_;
  std::vector<std::byte>& into = network().rewritten_;
  copy_batch(frames, plain);
  const std::size_t most = batch_bytes();
  into.resize(plain.size() + (plain.size() / most + 1) * link_guard::overhead);
  std::size_t size = 0;
  for (std::span<const std::byte> left = plain; !left.empty();) {
    const auto now = left.first(std::min(left.size(), most));
    size += guard_->seal(now, std::span(into).subspan(size));
    left = left.subspan(now.size());
  }
  return std::span(into).first(size);
}

/// Alters one byte of what is said in the clear, and mends the checksums.
std::span<const std::byte> sim_link::forged(std::span<const transport::frame_parts> frames) noexcept {
  std::vector<std::byte>& into = network().rewritten_;
  copy_batch(frames, into);
  const auto possible = static_cast<std::uint64_t>(std::ranges::count_if(frames, can_be_forged));
  if (possible == 0) return into;
  --network().path(host(), remote_).forge_next;
  ++network().forged_;
  std::uint64_t chosen = world().random().below(possible);
  std::span<std::byte> at(into);
  for (const transport::frame_parts& f : frames) {
    const std::size_t size = f.head.size() + f.payload.size();
    if (can_be_forged(f) && chosen-- == 0) {
      auto header = transport::decode_frame_header(f.head.first<frame_header_bytes>()).value();
      const auto payload = at.subspan(f.head.size(), f.payload.size());
      payload[world().random().below(payload.size())] ^=
          static_cast<std::byte>(1 + world().random().below(255));
      header.payload_checksum = wire::checksum(payload);
      transport::encode_frame_header(at, header);
      break;
    }
    at = at.subspan(size);
  }
  return into;
}

/// A buffer with less room than a record may need is not filled further.
status sim_link::open_sealed(std::span<const std::byte> bytes, passage& now) noexcept {
  guard_->feed(bytes);
  assembler_.set_owner(owner_);
  transport::buffer_ref plain;
  std::size_t filled = 0;
  while (true) {
    if (!plain || plain.capacity() - filled < transport::link_guard::most_record_bytes) {
      plain = network().frames_.try_acquire();
      filled = 0;
    }
    if (!plain) return error(errc::busy, "the network ran out of buffers");
    const auto opened = guard_->open({plain.data() + filled, plain.capacity() - filled});
    if (!opened) return opened.error();
    if (*opened == 0) return {};
    const std::span<const std::byte> some(plain.data() + filled, *opened);
    const status fed =
        assembler_.feed(plain, some, [&](transport::frame_view& frame) { return hand_over(frame, now); });
    if (!fed || !now.alive || now.cut) return fed;
    filled += *opened;
  }
}

/// A side that has compared the channel says nothing but a refusal.
void sim_link::note_unbound(const transport::frame_view& frame) noexcept {
  const bool comes_later =
      frame.header.type != frame_type::identity && frame.header.type != frame_type::refuse;
  if (!opens() || !comes_later || peer_ == nullptr || peer_->guard() == nullptr) return;
  network().unbound_frames_ += guard_->channel() != peer_->guard()->channel();
}

}  // namespace scoll::testing
