#include "transport/io/uring_receive_pool.hpp"

#include <algorithm>
#include <bit>

#include "transport/io/uring_reactor.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t source_bytes = uring_datagram_buffers::head_bytes - sizeof(io_uring_recvmsg_out);
static_assert(source_bytes >= sizeof(sockaddr_in6));

}  // namespace

uring_receive_pool::uring_receive_pool(uring_reactor& owner, std::size_t buffer_bytes, std::uint32_t limit,
                                       std::uint32_t entries, std::uint16_t group)
    : receive_buffers(
          owner,
          [](ready_node& node) noexcept {
            auto& self = static_cast<uring_receive_pool&>(node);
            self.owner_.resume_paused(self);
          },
          buffer_bytes, limit),
      ring(buffers, entries, group),
      owner_(owner) {}

uring_datagram_buffers::uring_datagram_buffers(uring_reactor& owner, std::uint32_t count,
                                               std::size_t datagram_bytes, std::uint16_t group)
    : uring_receive_pool(owner, head_bytes + datagram_bytes, count, std::bit_ceil(count), group) {
  owner_.adopt(*this);
}

uring_datagram_buffers::~uring_datagram_buffers() {
  owner_.release(*this);
}

void uring_datagram_buffers::prepare_multishot(io_uring_sqe& sqe, int fd) noexcept {
  message_ = {};
  message_.msg_namelen = source_bytes;
  io_uring_prep_recvmsg_multishot(&sqe, fd, &message_, 0);
  sqe.flags |= IOSQE_BUFFER_SELECT;
  sqe.buf_group = ring.group();
}

void uring_datagram_buffers::prepare_single(io_uring_sqe& sqe, int fd, const buffer_ref& into) noexcept {
  bytes_ = {into.data() + head_bytes, into.capacity() - head_bytes};
  message_ = {};
  message_.msg_name = into.data() + sizeof(io_uring_recvmsg_out);
  message_.msg_namelen = source_bytes;
  message_.msg_iov = &bytes_;
  message_.msg_iovlen = 1;
  io_uring_prep_recvmsg(&sqe, fd, &message_, MSG_DONTWAIT);
}

void uring_datagram_buffers::complete_single(const buffer_ref& into, std::int32_t size) const noexcept {
  auto& head = *reinterpret_cast<io_uring_recvmsg_out*>(into.data());
  head.namelen = message_.msg_namelen;
  head.controllen = 0;
  head.payloadlen = static_cast<std::uint32_t>(size);
  head.flags = static_cast<std::uint32_t>(message_.msg_flags);
}

received_datagram uring_datagram_buffers::view(const buffer_ref& buffer) const noexcept {
  const auto& head = *reinterpret_cast<const io_uring_recvmsg_out*>(buffer.data());
  const std::size_t capacity = buffer.capacity() - head_bytes;
  const std::size_t size = std::min<std::size_t>(head.payloadlen, capacity);
  return {reinterpret_cast<const sockaddr*>(buffer.data() + sizeof head),
          static_cast<socklen_t>(std::min<std::size_t>(head.namelen, source_bytes)),
          {buffer.data() + head_bytes, size},
          (head.flags & MSG_TRUNC) != 0 || head.payloadlen > capacity};
}

}  // namespace scoll::transport
