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

/// The buffers of one datagram socket, and the batch of them that one system call receives into. Each buffer
/// holds the source, then the bytes, aligned for the decoders.
class poll_datagram_buffers final : public datagram_buffers, public receive_buffers {
 public:
  /// The bytes of a buffer before its datagram.
  static constexpr std::size_t head_bytes = 64;
  /// The most datagrams that one call receives.
  static constexpr std::size_t batch = 16;

  poll_datagram_buffers(poll_reactor& owner, std::uint32_t count, std::size_t datagram_bytes);
  ~poll_datagram_buffers() override;

  /// Takes as many buffers as there are, up to a batch. False if there is none.
  bool take_buffers() noexcept;
  /// Receives the datagrams that are there into the taken buffers. The result is their number, or -1 with
  /// errno.
  int receive(int fd) noexcept;
  /// Gives back the buffers that were not used.
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
