#include <poll.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "scoll/coro/error_format.hpp"
#include "transport/session/rescued_memory.hpp"
#include "transport/tcp/tcp_link.hpp"

namespace scoll::transport {
namespace {

// For a link that expects bulk: the most bytes that one step receives, and the bytes that it reads after a
// payload, where the next frame begins.
constexpr std::size_t receive_step_bytes = 524288;
constexpr std::size_t read_ahead_bytes = 1024;
// The most spans of memory in one system call.
constexpr std::size_t most_spans = 64;

}  // namespace

void tcp_rail::tcp_link::push() noexcept {
  while (true) {
    std::array<iovec, most_spans> pieces;
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = unsent_pieces(pieces);
    const std::int64_t sent = rail_.reactor_.send_now(fd_.get(), message);
    if (sent == -EAGAIN || sent == -EINTR) return rail_.reactor_.poll(fd_.get(), POLLOUT, send_);
    if (sent < 0) return send_failed(static_cast<int>(-sent));
    if (all_sent_after(static_cast<std::size_t>(sent))) return rail_.reactor_.schedule(written_out_);
    if (message.msg_iovlen < most_spans) return rail_.reactor_.poll(fd_.get(), POLLOUT, send_);
  }
}

std::size_t tcp_rail::tcp_link::unsent_pieces(std::span<iovec> pieces) noexcept {
  std::size_t count = 0;
  const auto put = [&](std::span<const std::byte> bytes) {
    if (!bytes.empty() && count < pieces.size())
      pieces[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  };
  put(unsent_);
  if (rescued_ != nullptr) {
    put({rescued_.get() + lent_.offset, lent_.size});
  } else {
    std::uint64_t at = lent_.offset;
    for (std::size_t left = lent_.size; left != 0 && count < pieces.size();) {
      const auto next = lent_.memory->piece(at);
      const std::size_t n = std::min(next.size(), left);
      put(next.first(n));
      at += n;
      left -= n;
    }
  }
  return count;
}

bool tcp_rail::tcp_link::all_sent_after(std::size_t sent) noexcept {
  const std::size_t copied = std::min(sent, unsent_.size());
  unsent_ = unsent_.subspan(copied);
  lent_.offset += sent - copied;
  lent_.size -= static_cast<std::uint32_t>(sent - copied);
  return unsent_.empty() && lent_.size == 0;
}

void tcp_rail::tcp_link::rescue() noexcept {
  if (!rescue_lent(lent_, rescued_))
    break_link({errc::busy, "this process has no memory for what was being sent"});
}

void tcp_rail::tcp_link::forget_lent() noexcept {
  source_.give_back();
  rescued_.reset();
  lent_ = {};
}

void tcp_rail::tcp_link::on_sendable(const io_completion::event& e) noexcept {
  if (ending_) return finish_if_done();
  if (broken_) return;
  if (e.result < 0) return send_failed(-e.result);
  push();
}

void tcp_rail::tcp_link::send_failed(int reason) noexcept {
  forget_lent();
  if (owner_ == nullptr) return end();
  break_link(error::system(reason, "send"));
}

void tcp_rail::tcp_link::on_written_out() noexcept {
  forget_lent();
  pushing_ = false;
  batch_.reset();
  if (owner_ == nullptr) return half_close();
  if (!broken_) owner_->on_writable();
}

void tcp_rail::tcp_link::on_readable(const io_completion::event& e) noexcept {
  if (ending_) return finish_if_done();
  if (e.result < 0 && e.result != -ECANCELED) return receive_ended(e.result);
  read_some();
}

void tcp_rail::tcp_link::read_some() noexcept {
  if (broken_) return;
  for (std::size_t step = 0; step < receive_step_bytes;) {
    const buffer_ref behind = rail_.frame_buffers_.try_acquire();
    if (!behind)
      return break_link(make_error(errc::busy, "no buffer left to receive into: tcp.frame_buffers is {}",
                                   rail_.options_.frame_buffers));
    std::array<iovec, most_spans> pieces;
    msghdr message{};
    message.msg_iov = pieces.data();
    const std::size_t straight = room_pieces(std::span(pieces).first(most_spans - 1), message.msg_iovlen);
    const std::size_t ahead = straight == 0 ? behind.capacity() : read_ahead_bytes;
    pieces[message.msg_iovlen++] = {behind.data(), ahead};
    const std::int64_t got = rail_.reactor_.receive_now(fd_.get(), message);
    if (got == -EAGAIN || got == -EINTR) break;
    if (got <= 0) return receive_ended(static_cast<std::int32_t>(got));
    const auto received = static_cast<std::size_t>(got);
    take(behind, std::min(received, straight), received - std::min(received, straight));
    if (ending_ || broken_) return;
    if (received < straight + ahead) break;
    step += received;
    if (step >= receive_step_bytes) return rail_.reactor_.schedule(read_on_);
  }
  if (!bulk_ && !note_large_frames()) return receive_in_buffers();
  rail_.reactor_.poll(fd_.get(), POLLIN | POLLRDHUP, receive_);
}

/// Returns the size of the pieces in bytes, which may be less than what is still to come.
std::size_t tcp_rail::tcp_link::room_pieces(std::span<iovec> pieces, std::size_t& count) noexcept {
  if (owner_ != nullptr && is_collecting()) {
    const std::span<std::byte> rest = assembler_.rest_of_large();
    pieces[count++] = {rest.data(), rest.size()};
    return rest.size();
  }
  const lent_range room = owner_ == nullptr || sealed_in() ? lent_range{} : assembler_.room();
  std::size_t bytes = 0;
  while (room && bytes < room.size && count < pieces.size()) {
    const auto next = room.memory->piece(room.offset + bytes);
    const std::size_t n = std::min(next.size(), room.size - bytes);
    pieces[count++] = {next.data(), n};
    bytes += n;
  }
  return bytes;
}

void tcp_rail::tcp_link::take(const buffer_ref& behind, std::size_t straight, std::size_t ahead) noexcept {
  if (owner_ == nullptr) return;  // lingering: bytes are read and dropped
  const auto sink = [this](frame_view& f) { return deliver(f); };
  if (straight != 0) {
    assembler_.set_owner(owner_);
    if (!is_collecting()) {
      assembler_.advance(straight, sink);
    } else if (const status s = assembler_.collected(straight, sink); !s) {
      return break_link(s.error());
    }
  }
  if (owner_ != nullptr && !broken_ && ahead != 0) feed(behind, {behind.data(), ahead});
}

}  // namespace scoll::transport
