#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstring>

#include "scoll/coro/error_format.hpp"
#include "transport/tcp/tcp_link.hpp"

namespace scoll::transport {

void tcp_rail::tcp_link::write_sealed(std::span<const frame_parts> frames) noexcept {
  const buffer_ref plain = rail_.send_buffers_.try_acquire();
  if (!plain) return no_batch();
  std::size_t size = 0;
  const auto put = [&](std::span<const std::byte> bytes) {
    SCOLL_ASSERT(size + bytes.size() <= batch_bytes(), "a batch exceeds its limit");
    if (!bytes.empty()) std::memcpy(plain.data() + size, bytes.data(), bytes.size());
    size += bytes.size();
  };
  for (const frame_parts& f : frames) {
    put(f.head);
    put(f.payload);
  }
  const lent_range& lent = frames.back().lent;
  if (!begin_batch(lent ? rail_.sealed_buffers_ : rail_.send_buffers_)) return;
  if (!seal({plain.data(), size})) return;
  if (!lent) return rail_.reactor_.send_deferred(fd_.get(), unsent_, send_);
  lent_ = lent;
  source_.borrow(*lent_.memory);
  if (fill_batch()) send_lent();
}

/// Takes a buffer for the next batch, unless there is one. If the pool has none, the link is broken.
bool tcp_rail::tcp_link::begin_batch(buffer_pool& from) noexcept {
  if (!batch_) batch_ = from.try_acquire();
  if (!batch_) {
    no_batch();
    return false;
  }
  unsent_ = {batch_.data(), 0};
  return true;
}

/// Seals bytes and puts them behind what the batch has. If it fails, the link is broken.
bool tcp_rail::tcp_link::seal(std::span<const std::byte> plain) noexcept {
  const std::span<std::byte> free(batch_.data() + unsent_.size(), batch_.capacity() - unsent_.size());
  const std::size_t size = guard_->seal(plain, free);
  if (size == 0) break_link({errc::io_error, "the guard of the connection cannot seal"});
  unsent_ = {batch_.data(), unsent_.size() + size};
  return size != 0;
}

/// Seals what comes next of the lent memory, in place if it lies in one piece, and lets go of it after the last
/// byte. If it fails, the link is broken.
bool tcp_rail::tcp_link::seal_lent(std::size_t at_most) noexcept {
  const std::size_t size = std::min<std::size_t>(at_most, lent_.size);
  std::span<const std::byte> next =
      rescued_ != nullptr ? std::span<const std::byte>(rescued_.get() + lent_.offset, lent_.size)
                          : lent_.memory->piece(lent_.offset);
  buffer_ref gathered;
  if (next.size() < size) {
    gathered = rail_.send_buffers_.try_acquire();
    if (!gathered) {
      no_batch();
      return false;
    }
    next = {gathered.data(), size};
    lent_.memory->copy_out(lent_.offset, {gathered.data(), size});
  }
  if (!seal(next.first(size))) return false;
  lent_.offset += size;
  lent_.size -= static_cast<std::uint32_t>(size);
  if (lent_.size == 0) forget_lent();
  return true;
}

/// Seals lent memory behind what the batch has, a part as long as a batch in the clear at a time. If it fails, the
/// link is broken.
bool tcp_rail::tcp_link::fill_batch() noexcept {
  const auto free = [this] { return batch_.capacity() - unsent_.size(); };
  while (lent_ && free() >= batch_bytes() + link_guard::overhead) {
    if (!seal_lent(batch_bytes())) return false;
  }
  return true;
}

/// Sends the batch. While lent memory is left, it seals the next one as soon as the socket has taken this one. The
/// reactor sends the last one, and what the socket does not take at once.
void tcp_rail::tcp_link::send_lent() noexcept {
  while (lent_) {
    iovec piece{const_cast<std::byte*>(unsent_.data()), unsent_.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    const std::int64_t sent = rail_.reactor_.send_now(fd_.get(), message);
    if (sent > 0) unsent_ = unsent_.subspan(static_cast<std::size_t>(sent));
    if (!unsent_.empty()) break;
    if (!begin_batch(rail_.sealed_buffers_) || !fill_batch()) return;
  }
  rail_.reactor_.send(fd_.get(), unsent_, send_);
}

/// The batch has been sent, and lent memory is left.
void tcp_rail::tcp_link::seal_more() noexcept {
  if (begin_batch(rail_.sealed_buffers_) && fill_batch()) send_lent();
}

/// Opens records until all bytes are used. A payload that has a place is opened into it. A buffer with less room
/// than a record may need is not filled further, because that would cut a record, and perhaps a frame, in two.
void tcp_rail::tcp_link::open_sealed(std::span<const std::byte> sealed) noexcept {
  assembler_.set_owner(owner_);
  guard_->feed(sealed);
  const auto sink = [this](frame_view& f) { return deliver(f); };
  buffer_ref plain;
  std::size_t filled = 0;
  while (owner_ != nullptr && !broken_) {
    if (const lent_range room = assembler_.room(); room) {
      const auto opened = open_in_place(room);
      if (!opened) return break_link(opened.error());
      if (*opened == 0) return;
      assembler_.advance(*opened, sink);
      continue;
    }
    if (!plain || plain.capacity() - filled < link_guard::most_record_bytes) {
      plain = rail_.frame_buffers_.try_acquire();
      filled = 0;
    }
    if (!plain)
      return break_link(make_error(errc::busy, "no buffer left to receive into: tcp.frame_buffers is {}",
                                   rail_.options_.frame_buffers));
    const auto opened = guard_->open({plain.data() + filled, plain.capacity() - filled});
    if (!opened) return break_link(opened.error());
    if (*opened == 0) return;
    const auto fed = assembler_.feed(plain, {plain.data() + filled, *opened}, sink);
    if (!fed) return break_link(fed.error());
    filled += *opened;
  }
}

result<std::size_t> tcp_rail::tcp_link::open_in_place(const lent_range& room) noexcept {
  const std::span<std::byte> next = room.memory->piece(room.offset);
  return guard_->open(next.first(std::min<std::size_t>(next.size(), room.size)));
}

}  // namespace scoll::transport
