#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include "transport/io/receive_buffers.hpp"
#include "transport/io/uring_buffers.hpp"

namespace scoll::transport {

class uring_reactor;

/// A pool whose buffers are lent to the kernel, if the kernel can choose among them itself.
class uring_receive_pool : public receive_buffers {
 public:
  /// Makes a pool of at most `limit` buffers, of which `entries` (a power of two) are with the kernel at a
  /// time.
  uring_receive_pool(uring_reactor& owner, std::size_t buffer_bytes, std::uint32_t limit,
                     std::uint32_t entries, std::uint16_t group);

  /// True if the kernel chooses the buffers. Otherwise a receive waits for data first and takes a buffer
  /// then.
  bool lends() const noexcept { return ring.attached(); }
  bool at_hand() const noexcept { return lends() ? ring.provided() != 0 : !dry; }

  uring_buffers ring;

 protected:
  uring_reactor& owner_;
};

/// The pool of one datagram socket. Each buffer holds what the kernel says about the datagram, then its
/// source, then its bytes, aligned for the decoders.
class uring_datagram_buffers final : public datagram_buffers, public uring_receive_pool {
 public:
  /// The bytes of a buffer before its datagram.
  static constexpr std::size_t head_bytes = 64;

  uring_datagram_buffers(uring_reactor& owner, std::uint32_t count, std::size_t datagram_bytes,
                         std::uint16_t group);
  ~uring_datagram_buffers() override;

  void prepare_multishot(io_uring_sqe& sqe, int fd) noexcept;
  void prepare_single(io_uring_sqe& sqe, int fd, const buffer_ref& into) noexcept;
  /// Writes the header that the kernel would have written before the bytes if it had received them by
  /// multishot.
  void complete_single(const buffer_ref& into, std::int32_t size) const noexcept;
  received_datagram view(const buffer_ref& buffer) const noexcept;

 private:
  msghdr message_{};
  iovec bytes_{};
};

}  // namespace scoll::transport
