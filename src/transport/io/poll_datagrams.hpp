#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/io/reactor.hpp"
#include "transport/io/receive_buffers.hpp"

namespace scoll::transport {

class poll_reactor;

/// The buffers of one datagram socket, and what one system call receives into them. In each buffer lies first
/// the source, then the bytes, aligned for the decoders.
class poll_datagram_buffers final : public datagram_buffers, public receive_buffers {
 public:
  /// What a buffer has before the bytes of its datagram.
  static constexpr std::size_t head_bytes = 64;
  /// Received by one call at most.
  static constexpr std::size_t batch = 16;

  poll_datagram_buffers(poll_reactor& owner, std::uint32_t count, std::size_t datagram_bytes);
  ~poll_datagram_buffers() override;

  /// Takes as many buffers as there are, up to a batch. False if there is none.
  bool take_buffers() noexcept;
  /// Receives into them what is there. How many, or -1 and errno.
  int receive(int fd) noexcept;
  /// Gives back those that were not used.
  void give_back() noexcept;

  buffer_ref& buffer(std::size_t i) noexcept { return buffers_[i]; }
  received_datagram view(std::size_t i) const noexcept;
  std::size_t taken() const noexcept { return taken_; }

 private:
  std::size_t taken_ = 0;
  std::array<buffer_ref, batch> buffers_;
  std::array<iovec, batch> bytes_{};
  std::array<mmsghdr, batch> messages_{};
};

}  // namespace scoll::transport
