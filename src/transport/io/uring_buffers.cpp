#include "transport/io/uring_buffers.hpp"

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "transport/io/socket.hpp"

namespace scoll::transport {
namespace {

constexpr std::uint32_t wanted_at_first = 8;

}  // namespace

uring_buffers::uring_buffers(buffer_pool& pool, std::uint32_t entries, std::uint16_t group)
    : pool_(pool),
      entries_(entries),
      wanted_(std::min(entries, wanted_at_first)),
      group_(group),
      mapped_bytes_(entries * sizeof(io_uring_buf)),
      buffers_(pool.limit()) {}

uring_buffers::~uring_buffers() {
  SCOLL_ASSERT(shared_ == nullptr, "provided buffers died while the kernel has them");
}

int uring_buffers::attach(io_uring& ring) noexcept {
  void* const memory =
      mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return errno;
  io_uring_buf_reg registration{};
  registration.ring_addr = reinterpret_cast<std::uintptr_t>(memory);
  registration.ring_entries = entries_;
  registration.bgid = group_;
  const int failed = -io_uring_register_buf_ring(&ring, &registration, 0);
  if (failed != 0) {
    munmap(memory, mapped_bytes_);
    return failed;
  }
  shared_ = static_cast<io_uring_buf_ring*>(memory);
  io_uring_buf_ring_init(shared_);
  replenish();
  return 0;
}

void uring_buffers::detach(io_uring& ring) noexcept {
  if (shared_ == nullptr) return;
  io_uring_unregister_buf_ring(&ring, group_);
  munmap(shared_, mapped_bytes_);
  shared_ = nullptr;
  buffers_.clear();
  provided_ = 0;
}

void uring_buffers::replenish() noexcept {
  int added = 0;
  while (provided_ < wanted_) {
    buffer_ref buffer = pool_.try_acquire();
    if (!buffer) break;
    const std::uint32_t number = buffer.index();
    io_uring_buf_ring_add(shared_, buffer.data(), static_cast<unsigned>(pool_.buffer_size()),
                          static_cast<unsigned short>(number), static_cast<int>(entries_ - 1), added);
    buffers_[number] = std::move(buffer);
    ++provided_;
    ++added;
  }
  if (added != 0) io_uring_buf_ring_advance(shared_, added);
}

buffer_ref uring_buffers::take(std::uint32_t number) noexcept {
  SCOLL_ASSERT(number < buffers_.size() && buffers_[number],
               "the kernel used a buffer that it was not given");
  --provided_;
  return std::move(buffers_[number]);
}

bool probe_multishot_receive(io_uring& ring, uring_buffers& buffers) noexcept {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const unique_fd receiver(ends[0]);
  unique_fd sender(ends[1]);
  io_uring_sqe* const sqe = io_uring_get_sqe(&ring);
  if (sqe == nullptr || ::write(sender.get(), "x", 1) != 1) return false;
  sender.reset();
  io_uring_prep_recv_multishot(sqe, receiver.get(), nullptr, 0, 0);
  sqe->flags |= IOSQE_BUFFER_SELECT;
  sqe->buf_group = buffers.group();
  io_uring_sqe_set_data64(sqe, 0);

  bool works = false;
  for (bool more = true; more;) {
    io_uring_cqe* cqe = nullptr;
    __kernel_timespec limit{1, 0};
    const int waited = io_uring_submit_and_wait_timeout(&ring, &cqe, 1, &limit, nullptr);
    if (waited == -EINTR) continue;
    if (cqe == nullptr) return false;
    more = (cqe->flags & IORING_CQE_F_MORE) != 0;
    const bool buffered = (cqe->flags & IORING_CQE_F_BUFFER) != 0;
    if (buffered) buffers.take(cqe->flags >> IORING_CQE_BUFFER_SHIFT).reset();
    if (cqe->res == 1 && buffered && more) works = true;
    io_uring_cqe_seen(&ring, cqe);
  }
  buffers.replenish();
  return works;
}

}  // namespace scoll::transport
