#include "transport/tcp/tcp_link.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/session/limits.hpp"

namespace scoll::transport {
namespace {

// A link begins to receive large frames into their place when so many receives in a row have left one incomplete, and
// ends it when so many have left none.
constexpr std::uint8_t large_in_a_row = 4;
constexpr std::uint8_t small_in_a_row = 64;

// The most closed links that may wait for their peer at once. Further ones are cut short, so that they cannot
// pile up.
constexpr std::size_t linger_count_limit = 256;

// The unsent bytes of a link of bulk data that shares its work with others.
constexpr std::uint32_t shared_unsent_bytes = 262144;

}  // namespace

tcp_rail::tcp_link::tcp_link(tcp_rail& owner, unique_fd fd, std::string peer) noexcept
    : rail_(owner),
      open_(owner.open_.pass()),
      fd_(std::move(fd)),
      peer_(std::move(peer)),
      assembler_(owner.frame_buffers_),
      receive_(*this, &tcp_link::on_received),
      send_(*this, &tcp_link::on_sent),
      close_(*this, &tcp_link::on_file_closed) {
  rail_.reactor_.receive_multishot(fd_.get(), receive_);
}

bool tcp_rail::tcp_link::writable() const noexcept {
  return !send_.pending() && !written_out_.scheduled() && owner_ != nullptr && !broken_;
}

void tcp_rail::tcp_link::write(std::span<const frame_parts> frames) noexcept {
  SCOLL_ASSERT(writable(), "a link takes one batch at a time");
  written_ = true;
  if (guard_ != nullptr && guard_->sealing()) return write_sealed(frames);
  const auto is_large = [](const frame_parts& f) { return f.payload.size() >= limits::large_payload_bytes; };
  if (!frames.back().lent && std::ranges::any_of(frames, is_large)) return write_in_place(frames);
  batch_ = rail_.send_buffers_.try_acquire();
  if (!batch_) return no_batch();
  std::size_t size = 0;
  for (const frame_parts& f : frames) {
    size = append(size, f.head);
    size = append(size, f.payload);
  }
  unsent_ = {batch_.data(), size};
  lent_ = frames.back().lent;
  if (!lent_) return rail_.reactor_.send_deferred(fd_.get(), unsent_, send_);
  source_.borrow(*lent_.memory);
  pushing_ = true;
  push();
}

void tcp_rail::tcp_link::write_in_place(std::span<const frame_parts> frames) noexcept {
  std::array<iovec, 2 * limits::batch_frames> parts;
  msghdr message{};
  message.msg_iov = parts.data();
  for (const frame_parts& f : frames) {
    for (const std::span<const std::byte> bytes : {std::span<const std::byte>(f.head), f.payload})
      parts[message.msg_iovlen++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
  }
  const std::int64_t sent = rail_.reactor_.send_now(fd_.get(), message);
  if (sent < 0 && sent != -EAGAIN && sent != -EINTR) return send_failed(static_cast<int>(-sent));
  send_rest(std::span(parts).first(message.msg_iovlen), sent < 0 ? 0 : static_cast<std::size_t>(sent));
}

/// Sends what follows the first `sent` bytes of these parts, from a copy.
void tcp_rail::tcp_link::send_rest(std::span<const iovec> parts, std::size_t sent) noexcept {
  std::size_t size = 0;
  for (const iovec& part : parts) {
    const std::size_t begin = std::min(sent, part.iov_len);
    sent -= begin;
    if (begin == part.iov_len) continue;
    if (!batch_) batch_ = rail_.send_buffers_.try_acquire();
    if (!batch_) return no_batch();
    size = append(size, {static_cast<const std::byte*>(part.iov_base) + begin, part.iov_len - begin});
  }
  if (size == 0) return rail_.reactor_.schedule(written_out_);
  unsent_ = {batch_.data(), size};
  rail_.reactor_.send(fd_.get(), unsent_, send_);
}

void tcp_rail::tcp_link::no_batch() noexcept {
  break_link(make_error(errc::busy, "no buffer left to send from: tcp.send_buffers is {}",
                        rail_.options_.send_buffers));
}

std::size_t tcp_rail::tcp_link::append(std::size_t at, std::span<const std::byte> bytes) noexcept {
  SCOLL_ASSERT(at + bytes.size() <= tcp_batch_bytes, "a batch exceeds its limit");
  if (!bytes.empty()) std::memcpy(batch_.data() + at, bytes.data(), bytes.size());
  return at + bytes.size();
}

void tcp_rail::tcp_link::on_sent(const io_completion::event& e) noexcept {
  if (pushing_) return on_sendable(e);
  if (e.result > 0) unsent_ = unsent_.subspan(static_cast<std::size_t>(e.result));
  if (e.result > 0 && !unsent_.empty() && !ending_) return rail_.reactor_.send(fd_.get(), unsent_, send_);
  if (e.result > 0 && lent_ && !ending_ && !broken_) return seal_more();
  batch_.reset();
  if (ending_) return finish_if_done();
  if (e.result <= 0) {
    if (owner_ == nullptr) return end();
    return break_link(error::system(e.result == 0 ? EPIPE : -e.result, "send"));
  }
  if (owner_ == nullptr) return half_close();
  if (!broken_) owner_->on_writable();
}

void tcp_rail::tcp_link::expect_bulk() noexcept {
  if (bulk_ || broken_ || ending_) return;
  bulk_ = true;
  set_unsent_limit(fd_.get(), 0).ignore();  // nothing urgent follows bulk
  receive_when_readable();
}

void tcp_rail::tcp_link::receive_when_readable() noexcept {
  if (polling_) return;
  polling_ = true;
  rail_.reactor_.cancel(receive_);
}

void tcp_rail::tcp_link::receive_in_buffers() noexcept {
  polling_ = polled_ = false;
  large_ = 0;
  rail_.reactor_.receive_multishot(fd_.get(), receive_);
}

/// Notes whether a receive has left a large frame incomplete. Returns true if that is usual by now.
bool tcp_rail::tcp_link::note_large_frames() noexcept {
  const bool large = owner_ != nullptr && is_collecting();
  if (!polling_) {
    large_ = large ? static_cast<std::uint8_t>(large_ + 1) : 0;
    return large_ >= large_in_a_row;
  }
  large_ = large ? small_in_a_row : static_cast<std::uint8_t>(large_ - (large_ != 0 ? 1 : 0));
  return large_ != 0;
}

void tcp_rail::tcp_link::keep_unsent_short() noexcept {
  if (!broken_ && !ending_) set_unsent_limit(fd_.get(), shared_unsent_bytes).ignore();
}

std::optional<std::uint64_t> tcp_rail::tcp_link::acknowledged_bytes() const noexcept {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd_.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  return info.tcpi_bytes_acked;
}

void tcp_rail::tcp_link::close() noexcept {
  owner_ = nullptr;
  assembler_.set_owner(nullptr);
  assembler_.forget_room();
  if (broken_ || !written_ || rail_.lingering_ >= linger_count_limit) return end();
  ++rail_.lingering_;
  rail_.reactor_.arm(linger_, rail_.reactor_.now() + rail_.options_.linger_limit);
  if (!send_.pending() && !written_out_.scheduled()) half_close();
  flush();
}

/// A disconnected socket has dropped what it had queued, and nothing that comes late is delivered to it.
void tcp_rail::tcp_link::sever() noexcept {
  owner_ = nullptr;
  assembler_.set_owner(nullptr);
  assembler_.forget_room();
  const linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(fd_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  ::connect(fd_.get(), &nowhere, sizeof nowhere);
  end();
}

void tcp_rail::tcp_link::on_received(const io_completion::event& e) noexcept {
  if (polled_) return on_readable(e);
  if (polling_ && e.result == -ECANCELED && !ending_) {
    polled_ = true;
    return read_some();
  }
  if (e.result <= 0) return receive_ended(e.result);
  if (owner_ == nullptr || broken_) return;
  const buffer_ref buffer = std::move(*e.buffer);
  feed(buffer, {buffer.data(), static_cast<std::size_t>(e.result)});
  if (!polling_ && note_large_frames() && !broken_ && !ending_) receive_when_readable();
}

void tcp_rail::tcp_link::feed(const buffer_ref& buffer, std::span<const std::byte> bytes) noexcept {
  if (sealed_in()) return open_sealed(bytes);
  assembler_.set_owner(owner_);
  const auto s =
      assembler_.feed_some(buffer, bytes, [this](frame_view& f) { return deliver(f) && !sealed_in(); });
  if (!s) return break_link(s.error());
  if (sealed_in() && owner_ != nullptr && !broken_) open_sealed(bytes);
}

/// Delivers a frame, with which the link may have got another owner. Returns true if there is still one for the
/// next frame.
bool tcp_rail::tcp_link::deliver(frame_view& frame) noexcept {
  owner_->on_frame(frame);
  assembler_.set_owner(owner_);
  return owner_ != nullptr && !broken_;
}

void tcp_rail::tcp_link::receive_ended(std::int32_t outcome) noexcept {
  if (owner_ == nullptr) return end();
  break_link(outcome == 0 ? error(errc::connection_lost, "the peer closed the connection")
                          : error::system(-outcome, "receive"));
}

/// The connection is of no more use: tells the owner, in a step of its own.
void tcp_rail::tcp_link::break_link(const error& reason) noexcept {
  if (broken_) return;
  broken_ = true;
  reason_ = reason;
  rail_.reactor_.schedule(told_);
}

void tcp_rail::tcp_link::tell_owner() noexcept {
  link_events* owner = std::exchange(owner_, nullptr);
  end();
  if (owner != nullptr) owner->on_closed(reason_);
}

void tcp_rail::tcp_link::half_close() noexcept {
  ::shutdown(fd_.get(), SHUT_WR);
}

void tcp_rail::tcp_link::lingered() noexcept {
  --rail_.lingering_;
  end();
}

void tcp_rail::tcp_link::end() noexcept {
  if (linger_.armed()) {
    rail_.reactor_.disarm(linger_);
    --rail_.lingering_;
  }
  if (!ending_) {
    ending_ = true;
    ::shutdown(fd_.get(), SHUT_RDWR);
    rail_.reactor_.cancel(receive_);
    rail_.reactor_.cancel(send_);
    rail_.reactor_.unschedule(written_out_);
    rail_.reactor_.unschedule(read_on_);
    forget_lent();
    assembler_.forget_room();
  }
  finish_if_done();
}

void tcp_rail::tcp_link::finish_if_done() noexcept {
  if (receive_.pending() || send_.pending() || close_.pending() || told_.scheduled()) return;
  rail_.reactor_.close_socket(fd_.release(), close_);
}

void tcp_rail::tcp_link::on_file_closed(const io_completion::event&) noexcept {
  delete this;
}

}  // namespace scoll::transport
