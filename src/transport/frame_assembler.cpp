#include "../../include/transport/frame_assembler.hpp"

#include <algorithm>
#include <cstring>

#include "../../include/transport/wire/checksum.hpp"
#include "../mutants.hpp"

namespace scoll::transport {

frame_assembler::frame_step frame_assembler::fail(const error& reason) noexcept {
  frame_step step;
  step.failed = true;
  step.reason = reason;
  return step;
}

/// Copies bytes until `until` of the frame are there. False if that needs more.
bool frame_assembler::collect(std::span<const std::byte>& bytes, std::size_t until) noexcept {
  const std::size_t wanted = std::min(bytes.size(), until - filled_);
  if (wanted != 0) std::memcpy(partial_.data() + filled_, bytes.data(), wanted);
  filled_ += wanted;
  bytes = bytes.subspan(wanted);
  return filled_ == until;
}

frame_assembler::frame_step frame_assembler::whole(const slab_ref& owner, std::span<const std::byte> frame,
                                                   const frame_header& header) noexcept {
  if (!frame_head_intact(frame, header) && !SCOLL_MUTANT(checksum_unchecked))
    return fail({errc::checksum_mismatch, "frame: head checksum differs"});
  frame_step step;
  step.payload.bytes = frame.subspan(frame_header_bytes + header.head_bytes, header.payload_bytes);
  if (wire::checksum(step.payload.bytes) != header.payload_checksum && !SCOLL_MUTANT(checksum_unchecked)) {
    return fail({errc::checksum_mismatch, "frame: payload checksum differs"});
  }
  step.complete = true;
  step.header = header;
  step.head = frame.subspan(frame_header_bytes, header.head_bytes);
  step.payload.owner = owner;
  return step;
}

frame_assembler::frame_step frame_assembler::next(const slab_ref& owner,
                                                  std::span<const std::byte>& bytes) noexcept {
  if (bytes.empty()) return {};
  if (filled_ == 0 && bytes.size() >= frame_header_bytes) {
    const auto header = decode_frame_header(bytes.first<frame_header_bytes>());
    if (!header) return fail(header.error());
    if (bytes.size() >= header->frame_bytes()) {
      const auto frame = bytes.first(header->frame_bytes());
      bytes = bytes.subspan(header->frame_bytes());
      return whole(owner, frame, *header);
    }
  }
  if (!partial_) {
    partial_ = frames_->try_acquire();
    if (!partial_) return fail({errc::busy, "no buffer left for a split frame"});
  }
  if (!header_) {
    if (!collect(bytes, frame_header_bytes)) return {};
    const auto header = decode_frame_header(
        std::span<const std::byte, frame_header_bytes>(partial_.data(), frame_header_bytes));
    if (!header) return fail(header.error());
    header_ = *header;
  }
  if (!collect(bytes, header_->frame_bytes())) return {};
  const frame_header header = *header_;
  header_.reset();
  filled_ = 0;
  const slab_ref collected = std::move(partial_);
  frame_step step = whole(collected, {collected.data(), header.frame_bytes()}, header);
  step.collected = collected;
  return step;
}

}  // namespace scoll::transport
