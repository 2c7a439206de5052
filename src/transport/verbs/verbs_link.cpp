#include "transport/verbs/verbs_link.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/session/rescued_memory.hpp"

namespace scoll::transport::verbs {

verbs_link::verbs_link(device& d, link_buffers& buffers, const link_pairs& pairs, link& canary,
                       gate_pass open) noexcept
    : device_(d),
      buffers_(buffers),
      pair_(pairs.messages),
      reads_(pairs.reads),
      canary_(&canary),
      open_(std::move(open)),
      peer_(canary.peer_name()),
      assembler_(buffers.frames) {
  pair_->set_events(*this);
  if (reads_ != nullptr) reads_->serve(*this, pairs.id);
  canary.set_owner(this);
}

// ---- sending

void verbs_link::write(std::span<const frame_parts> frames) noexcept {
  SCOLL_ASSERT(writable(), "a link takes one batch at a time");
  batch_open_ = true;
  for (const frame_parts& f : frames) {
    append(f.head);
    append(f.payload);
  }
  if (frames.back().lent) {
    lent_ = frames.back().lent;
    source_.borrow(*lent_.memory);
  }
  pump();
}

/// Copies bytes into slabs as long as they can be sent at once.
void verbs_link::append(std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty() && !broken_) {
    if (rest_ || !take_slab()) return keep(bytes);
    bytes = bytes.subspan(into_slab(bytes));
    if (filled_ == slot_bytes) push();
  }
}

void verbs_link::keep(std::span<const std::byte> bytes) noexcept {
  if (!rest_) {
    rest_ = buffers_.batches.try_acquire();
    if (!rest_) {
      return break_link(make_error(errc::busy, "no buffer left to send from: verbs.send_buffers is {}",
                                   buffers_.batches.limit()));
    }
    unsent_ = {rest_.data(), 0};
  }
  SCOLL_ASSERT(unsent_.size() + bytes.size() <= most_batch_bytes, "a batch exceeds its limit");
  std::memcpy(rest_.data() + unsent_.size(), bytes.data(), bytes.size());
  unsent_ = {rest_.data(), unsent_.size() + bytes.size()};
}

/// Returns true if there is a slab that is not full.
bool verbs_link::take_slab() noexcept {
  if (filling_ != nullptr) return true;
  if (!pair_->can_send()) return false;
  filling_ = device_.try_slab();
  filled_ = 0;
  if (filling_ == nullptr) device_.wait_for_slab(*pair_);
  return filling_ != nullptr;
}

std::size_t verbs_link::into_slab(std::span<const std::byte> bytes) noexcept {
  const std::size_t n = std::min(bytes.size(), slot_bytes - filled_);
  if (n != 0) std::memcpy(filling_->memory.bytes.data() + filled_, bytes.data(), n);
  filled_ += n;
  return n;
}

/// Fills the slab with what waits.
void verbs_link::fill() noexcept {
  unsent_ = unsent_.subspan(into_slab(unsent_));
  while (lent_.size != 0 && filled_ < slot_bytes) {
    const std::span<const std::byte> whole =
        rescued_ != nullptr ? std::span<const std::byte>(rescued_.get() + lent_.offset, lent_.size)
                            : lent_.memory->piece(lent_.offset);
    const std::size_t n = into_slab(whole.first(std::min<std::size_t>(whole.size(), lent_.size)));
    lent_.offset += n;
    lent_.size -= static_cast<std::uint32_t>(n);
  }
}

void verbs_link::push() noexcept {
  pair_->push(*std::exchange(filling_, nullptr), std::exchange(filled_, 0));
}

/// Sends what waits, as far as the peer and the device take it now.
void verbs_link::pump() noexcept {
  while (!broken_ && !ended_ && (filling_ != nullptr || !unsent_.empty() || lent_.size != 0)) {
    if (!take_slab()) break;
    fill();
    push();
  }
  if (broken_ || ended_) return;
  pair_->post();
  if (broken_ || !batch_open_ || !unsent_.empty() || lent_.size != 0) return;
  forget_unsent();
  device_.home().schedule(drained_);
}

void verbs_link::forget_unsent() noexcept {
  source_.give_back();
  rescued_.reset();
  rest_.reset();
  unsent_ = {};
  lent_ = {};
  batch_open_ = false;
}

void verbs_link::rescue() noexcept {
  if (!rescue_lent(lent_, rescued_))
    break_link({errc::busy, "this process has no memory for what was being sent"});
}

void verbs_link::on_drained() noexcept {
  if (owner_ != nullptr && !broken_) owner_->on_writable();
}

void verbs_link::on_room() noexcept {
  if (batch_open_) pump();
  if (owner_ == nullptr && !broken_ && !batch_open_ && pair_->idle()) end(false);
}

// ---- receiving

void verbs_link::on_arrival(const buffer_ref& owner, std::span<const std::byte> bytes) noexcept {
  if (owner_ == nullptr || broken_ || bytes.empty()) return;
  assembler_.set_owner(owner_);
  const auto s = assembler_.feed(owner, bytes, [this](frame_view& f) { return deliver(f); });
  if (!s) break_link(s.error());
}

/// Delivers a frame, with which the link may have got another owner. Returns true if there is still one for the
/// next frame.
bool verbs_link::deliver(frame_view& frame) noexcept {
  owner_->on_frame(frame);
  assembler_.set_owner(owner_);
  return owner_ != nullptr && !broken_;
}

// ---- the end

void verbs_link::on_failed(const error& reason) noexcept {
  break_link(reason);
}

void verbs_link::on_frame(frame_view&) noexcept {
  break_link({errc::malformed, "a frame on the connection below a verbs link"});
}

/// What the peer has sent before that is in the queue of completions, and counts.
void verbs_link::on_closed(const error& reason) noexcept {
  canary_ = nullptr;
  if (ended_ || told_.scheduled()) return;
  reason_ = reason;
  device_.home().schedule(told_);
}

void verbs_link::break_link(const error& reason) noexcept {
  if (std::exchange(broken_, true)) return;
  reason_ = reason;
  if (!told_.scheduled()) device_.home().schedule(told_);
}

void verbs_link::tell_owner() noexcept {
  if (!broken_) device_.drain();
  broken_ = true;
  link_events* const owner = std::exchange(owner_, nullptr);
  const error reason = reason_;
  end(false);
  if (owner != nullptr) owner->on_closed(reason);
}

void verbs_link::close() noexcept {
  owner_ = nullptr;
  assembler_.set_owner(nullptr);
  assembler_.forget_room();
  const bool done = !batch_open_ && pair_->idle();
  if (broken_ || canary_ == nullptr || done) return end(false);
  device_.home().arm(linger_, device_.home().now() + device_.options().linger_limit);
}

void verbs_link::sever() noexcept {
  owner_ = nullptr;
  end(true);
}

void verbs_link::end(bool at_once) noexcept {
  if (std::exchange(ended_, true)) return;
  assembler_.set_owner(nullptr);
  assembler_.forget_room();
  forget_unsent();
  if (filling_ != nullptr) device_.give_slab(*std::exchange(filling_, nullptr));
  executor& home = device_.home();
  if (linger_.armed()) home.disarm(linger_);
  if (told_.scheduled()) home.unschedule(told_);
  if (drained_.scheduled()) home.unschedule(drained_);
  if (reads_ != nullptr) std::exchange(reads_, nullptr)->release();
  pair_->release();
  if (link* const below = std::exchange(canary_, nullptr)) {
    below->set_owner(nullptr);
    at_once ? below->sever() : below->close();
  }
  home.schedule(gone_);
}

}  // namespace scoll::transport::verbs
