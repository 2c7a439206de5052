#include "transport/io/poll_datagrams.hpp"

#include <netinet/in.h>

#include <algorithm>
#include <cerrno>

#include "transport/io/poll_reactor.hpp"

namespace scoll::transport {

static_assert(poll_datagram_buffers::head_bytes >= sizeof(sockaddr_in6));

poll_datagram_buffers::poll_datagram_buffers(poll_reactor& owner, std::uint32_t count,
                                             std::size_t datagram_bytes)
    : receive_buffers(owner, &poll_reactor::resume_paused, head_bytes + datagram_bytes, count) {
  owner.adopt(*this);
}

poll_datagram_buffers::~poll_datagram_buffers() {
  unlink();
}

bool poll_datagram_buffers::take_buffers() noexcept {
  while (taken_ < batch) {
    buffer_ref& buffer = buffers_[taken_];
    buffer = buffers.try_acquire();
    if (!buffer) break;
    bytes_[taken_] = {buffer.data() + head_bytes, buffer.capacity() - head_bytes};
    msghdr& m = messages_[taken_].msg_hdr;
    m = {};
    m.msg_name = buffer.data();
    m.msg_namelen = head_bytes;
    m.msg_iov = &bytes_[taken_];
    m.msg_iovlen = 1;
    ++taken_;
  }
  return taken_ != 0;
}

int poll_datagram_buffers::receive(int fd) noexcept {
  return ::recvmmsg(fd, messages_.data(), static_cast<unsigned>(taken_), MSG_DONTWAIT, nullptr);
}

void poll_datagram_buffers::give_back() noexcept {
  while (taken_ != 0) buffers_[--taken_].reset();
}

received_datagram poll_datagram_buffers::view(std::size_t i) const noexcept {
  const mmsghdr& m = messages_[i];
  const auto* const bytes = static_cast<const std::byte*>(bytes_[i].iov_base);
  return {reinterpret_cast<const sockaddr*>(bytes - head_bytes),
          std::min<socklen_t>(m.msg_hdr.msg_namelen, head_bytes),
          {bytes, m.msg_len},
          (m.msg_hdr.msg_flags & MSG_TRUNC) != 0};
}

}  // namespace scoll::transport
