#include "transport/session/frame_assembler.hpp"

#include <algorithm>
#include <cstring>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/limits.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {
namespace {

constexpr bool may_be_placed(const frame_header& header) noexcept {
  return header.klass == traffic_class::bulk && header.payload_bytes > placed_payload_bytes;
}

}  // namespace

frame_assembler::frame_step frame_assembler::fail(const error& reason) noexcept {
  frame_step step;
  step.failed = true;
  step.reason = reason;
  return step;
}

/// Copies bytes until the frame has `until` of them. False if that needs more.
bool frame_assembler::collect(std::span<const std::byte>& bytes, std::size_t until) noexcept {
  const std::size_t wanted = std::min(bytes.size(), until - filled_);
  if (wanted != 0) std::memcpy(partial_.data() + filled_, bytes.data(), wanted);
  filled_ += wanted;
  bytes = bytes.subspan(wanted);
  return filled_ == until;
}

frame_assembler::frame_step frame_assembler::whole(const buffer_ref& owner, std::span<const std::byte> frame,
                                                   const frame_header& header) noexcept {
  if (!frame_head_intact(frame, header) &&
      !SCOLL_MUTANT(checksum_unchecked, "heads and payloads are not checked"))
    return fail({errc::checksum_mismatch, "frame: head checksum differs"});
  frame_step step;
  step.payload.bytes = frame.subspan(frame_header_bytes + header.head_bytes, header.payload_bytes);
  const bool intact =
      !header.payload_checked || wire::checksum(step.payload.bytes) == header.payload_checksum;
  if (!intact && !SCOLL_MUTANT(checksum_unchecked)) {
    return fail({errc::checksum_mismatch, "frame: payload checksum differs"});
  }
  step.complete = true;
  step.header = header;
  step.head = frame.subspan(frame_header_bytes, header.head_bytes);
  step.payload.owner = owner;
  return step;
}

frame_assembler::frame_step frame_assembler::next(const buffer_ref& owner,
                                                  std::span<const std::byte>& bytes) noexcept {
  if (bytes.empty()) return {};
  if (filled_ == 0 && bytes.size() >= frame_header_bytes) {
    const auto header = decode_frame_header(bytes.first<frame_header_bytes>());
    if (!header) return fail(header.error());
    if (!may_be_placed(*header) && bytes.size() >= header->frame_bytes()) {
      const auto frame = bytes.first(header->frame_bytes());
      bytes = bytes.subspan(header->frame_bytes());
      return whole(owner, frame, *header);
    }
  }
  if (!partial_) {
    partial_ = frames_->try_acquire();
    if (!partial_)
      return fail(make_error(errc::busy, "no buffer left for a frame in pieces: tcp.frame_buffers is {}",
                             frames_->limit()));
  }
  if (!header_) {
    if (!collect(bytes, frame_header_bytes)) return {};
    const auto header = decode_frame_header(
        std::span<const std::byte, frame_header_bytes>(partial_.data(), frame_header_bytes));
    if (!header) return fail(header.error());
    header_ = *header;
    way_ = may_be_placed(*header) ? payload_way::undecided : payload_way::collected;
  }
  if (way_ == payload_way::undecided) {
    if (!collect(bytes, frame_header_bytes + header_->head_bytes)) return {};
    if (const auto s = choose_way(); !s) return fail(s.error());
  }
  if (way_ != payload_way::collected) return place(bytes);
  if (!collect(bytes, header_->frame_bytes())) return {};
  return collected_whole();
}

frame_assembler::frame_step frame_assembler::collected_whole() noexcept {
  const frame_header header = *header_;
  header_.reset();
  filled_ = 0;
  const buffer_ref collected = std::move(partial_);
  frame_step step = whole(collected, {collected.data(), header.frame_bytes()}, header);
  step.collected = collected;
  return step;
}

/// The head has arrived, so its owner can say where the payload goes.
status frame_assembler::choose_way() noexcept {
  const std::span<const std::byte> frame(partial_.data(), filled_);
  if (!frame_head_intact(frame, *header_)) {
    return error(errc::checksum_mismatch, "frame: head checksum differs");
  }
  lent_range into;
  if (owner_ != nullptr) into = owner_->place_payload(*header_, frame.subspan(frame_header_bytes));
  placed_ = 0;
  if (into) {
    SCOLL_ASSERT(into.size == header_->payload_bytes, "a payload is placed whole");
    way_ = payload_way::placed;
    target_.borrow(*into.memory);
    target_offset_ = into.offset;
  } else {
    way_ = header_->payload_bytes <= max_payload_bytes ? payload_way::collected : payload_way::dropped;
  }
  return {};
}

std::span<std::byte> frame_assembler::rest_of_large() noexcept {
  const bool large =
      header_ && way_ == payload_way::collected && header_->payload_bytes >= limits::large_payload_bytes;
  if (!large) return {};
  return {partial_.data() + filled_, header_->frame_bytes() - filled_};
}

lent_range frame_assembler::room() const noexcept {
  if (target_.memory() == nullptr) return {};
  return {target_.memory(), target_offset_ + placed_,
          header_->payload_bytes - static_cast<std::uint32_t>(placed_)};
}

frame_assembler::frame_step frame_assembler::place(std::span<const std::byte>& bytes) noexcept {
  const auto now = bytes.first(std::min(bytes.size(), header_->payload_bytes - placed_));
  bytes = bytes.subspan(now.size());
  if (target_.memory() != nullptr) target_.memory()->copy_in(target_offset_ + placed_, now);
  placed_ += now.size();
  return placed_ == header_->payload_bytes ? placed_whole() : frame_step{};
}

frame_assembler::frame_step frame_assembler::placed_whole() noexcept {
  frame_step step;
  step.complete = true;
  step.header = *header_;
  step.collected = std::move(partial_);
  step.head = std::span<const std::byte>(step.collected.data(), filled_).subspan(frame_header_bytes);
  step.fate = way_ == payload_way::dropped   ? payload_disposition::dropped
              : target_.memory() == nullptr  ? payload_disposition::torn
              : !step.header.payload_checked ? payload_disposition::placed
              : target_.memory()->checksum(target_offset_, placed_) == step.header.payload_checksum
                  ? payload_disposition::placed
                  : payload_disposition::damaged;
  target_.give_back();
  header_.reset();
  filled_ = 0;
  return step;
}

}  // namespace scoll::transport
