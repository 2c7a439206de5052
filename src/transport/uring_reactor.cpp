#include "uring_reactor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "coro/error_format.hpp"

namespace scoll::transport {
namespace {

// What one transfer may ask for at most; the kernel would cut it there too.
constexpr std::size_t most_transfer_bytes = 0x7ffff000;

// Fits an empty socket buffer of any usual size.
constexpr std::uint32_t brief_send_bytes = 16384;

std::uint32_t transfer_bytes(std::size_t size) noexcept {
  return static_cast<std::uint32_t>(std::min(size, most_transfer_bytes));
}

}  // namespace

result<std::unique_ptr<reactor>> uring_reactor::create(const reactor_options& options) {
  std::unique_ptr<uring_reactor> made(new uring_reactor(options));
  if (const scoll::status opened = made->open_ring(options); !opened) return opened.error();
  return std::unique_ptr<reactor>(std::move(made));
}

uring_reactor::uring_reactor(const reactor_options& options)
    : streams_(*this, options.receive_buffer_bytes, options.receive_buffer_limit, options.receive_buffers, 0),
      finish_ended_(*this, &uring_reactor::finish_ended) {
  pools_.push_back(streams_);
}

scoll::status uring_reactor::open_ring(const reactor_options& options) {
  if (const scoll::status opened = ring_.open(options, features_); !opened) return opened;
  wake_fd_ = unique_fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!wake_fd_) return error::system(errno, "eventfd");
  probe_multishot(options);
  if (options.announce && options.disable == 0) announce_fallbacks(features_);
  read_time();  // timers may be armed before the first turn
  submit_rest();
  return {};
}

void uring_reactor::probe_multishot(const reactor_options& options) {
  constexpr auto no_multishot_receive =
      reactor_disable::multishot_receive | reactor_disable::provided_buffer_ring;
  if ((options.disable & no_multishot_receive) == 0) {
    features_.provided_buffer_ring = streams_.ring.attach(ring()) == 0;
    features_.multishot_receive =
        features_.provided_buffer_ring && probe_multishot_receive(ring(), streams_.ring);
  }
  if (!features_.multishot_receive) {
    streams_.ring.detach(ring());
    features_.provided_buffer_ring = false;
    note_fallback(features_,
                  "receives poll first, then read (multishot receive with buffer ring, kernel 6.0)");
  }
  features_.multishot_receive_message = features_.multishot_receive &&
                                        (options.disable & reactor_disable::multishot_receive_message) == 0 &&
                                        probe_multishot_receive_message(ring(), wake_fd_.get());
  if (!features_.multishot_receive_message)
    note_fallback(features_, "datagrams are received one by one (multishot recvmsg, kernel 6.0)");
  features_.multishot_accept = (options.disable & reactor_disable::multishot_accept) == 0 &&
                               probe_multishot_accept(ring(), wake_fd_.get());
  if (!features_.multishot_accept) note_fallback(features_, "accepts are armed one by one (kernel 5.19)");
}

uring_reactor::~uring_reactor() {
  SCOLL_ASSERT(outstanding_ == 0, "a reactor died with operations pending");
  SCOLL_ASSERT(pools_.next(streams_) == nullptr, "a reactor died before its datagram buffers");
  streams_.ring.detach(ring());
}

void uring_reactor::post(posted_node& node) noexcept {
  if (inbox_.push(node)) wake();
}

/// Where completions are deferred to this thread, the ring's own descriptor does not wake who polls it when
/// they arrive; an event descriptor of the ring does. Only hosts pay for it.
int uring_reactor::pollable_fd() noexcept {
  if (!features_.defer_taskrun) return ring().ring_fd;
  if (host_fd_) return host_fd_.get();
  unique_fd made(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!made || io_uring_register_eventfd(&ring(), made.get()) != 0) return ring().ring_fd;
  host_fd_ = std::move(made);
  host_wake_.store(host_fd_.get(), std::memory_order_release);
  tell_host();
  return host_fd_.get();
}

uring_reactor::slot& uring_reactor::begin(io_completion& done, operation kind, int fd) noexcept {
  mark_pending(done);
  ++outstanding_;
  slot& s = slot_of(done);
  s.kind = kind;
  s.fd = fd;
  s.cancelling = false;
  s.polled = false;
  return s;
}

void uring_reactor::hand_over(slot& s) noexcept {
  // Those who wait keep their order; the turn moves them.
  io_uring_sqe* const sqe = queued_.empty() ? io_uring_get_sqe(&ring()) : nullptr;
  if (sqe == nullptr) {
    s.where = place::queued;
    queued_.push_back(s);
    return;
  }
  prepare(*sqe, s);
}

void uring_reactor::hand_over_again(slot& s) noexcept {
  if (s.cancelling) {
    end(s, -ECANCELED);  // the kernel may have seen the cancel between two operations
  } else {
    hand_over(s);
  }
}

void uring_reactor::move_queued() noexcept {
  if (!wakeups_watched_) watch_wakeups();
  while (!queued_.empty()) {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring());
    if (sqe == nullptr) return;
    slot& s = queued_.pop_front();
    if (s.where == place::submitted) {
      prepare_cancel(*sqe, s);
    } else {
      prepare(*sqe, s);
    }
  }
}

void uring_reactor::pause(slot& s) noexcept {
  ++statistics_.receive_starved;
  if (s.cancelling) return end(s, -ECANCELED);
  s.where = place::paused;
  pool_of(s).paused.push_back(s);
  ++pool_of(s).paused_count;
}

void uring_reactor::end(slot& s, std::int32_t outcome) noexcept {
  s.where = place::ended;
  s.result = outcome;
  ended_.push_back(s);
  if (!finish_ended_.scheduled()) schedule(finish_ended_);
}

void uring_reactor::finish_ended() noexcept {
  while (!ended_.empty()) {
    slot& s = ended_.pop_front();
    finish(s, s.result);
  }
}

void uring_reactor::finish(slot& s, std::int32_t outcome) noexcept {
  s.where = place::nowhere;
  s.buffer.reset();
  if (s.kind == operation::receive_datagrams) datagrams_of(s).receiving = false;
  --outstanding_;
  deliver(*s.owner, {outcome, false, nullptr});
}

// As many as there are buffers: more would starve each other again. Some may not need theirs; then the end of
// the turn sees to it that the others follow.
void uring_reactor::resume_paused(uring_receive_pool& pool) noexcept {
  if (pool.lends()) pool.ring.replenish();
  std::uint32_t budget = pool.lends() ? std::min(pool.ring.provided(), pool.paused_count) : pool.paused_count;
  while (budget-- != 0 && pool.at_hand()) {
    slot& s = pool.paused.pop_front();
    --pool.paused_count;
    if (pool.lends()) {
      hand_over(s);
    } else {
      fill_receive_slab(s);
    }
  }
}

void uring_reactor::fill_receive_slab(slot& s) noexcept {
  s.buffer = pool_of(s).slabs.try_acquire();
  s.polled = static_cast<bool>(s.buffer);
  if (s.polled) return hand_over(s);
  pool_of(s).dry = true;
  pause(s);
}

void uring_reactor::cancel(io_completion& done) noexcept {
  slot& s = slot_of(done);
  if (!done.pending() || s.cancelling) return;
  s.cancelling = true;
  switch (s.where) {
    case place::paused: --pool_of(s).paused_count; [[fallthrough]];
    case place::queued:
      s.unlink();
      end(s, -ECANCELED);
      break;
    case place::submitted:
      if (io_uring_sqe* const sqe = queued_.empty() ? io_uring_get_sqe(&ring()) : nullptr; sqe != nullptr) {
        prepare_cancel(*sqe, s);
      } else {
        queued_.push_back(s);
      }
      break;
    case place::elsewhere:
    case place::ended:
    case place::nowhere: break;
  }
}

void uring_reactor::prepare_cancel(io_uring_sqe& sqe, slot& s) const noexcept {
  io_uring_prep_cancel64(&sqe, reinterpret_cast<std::uintptr_t>(&s), 0);
  if (ring_.skips_success_events()) sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
  io_uring_sqe_set_data64(&sqe, 0);
}

void uring_reactor::prepare(io_uring_sqe& sqe, slot& s) noexcept {
  const auto* const path = static_cast<const char*>(s.address);
  const auto flags = static_cast<int>(s.flags);
  switch (s.kind) {
    case operation::none:
    case operation::list: break;  // the ring has none
    case operation::accept:
      io_uring_prep_accept(&sqe, s.fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (features_.multishot_accept) sqe.ioprio |= IORING_ACCEPT_MULTISHOT;
      break;
    case operation::connect:
      io_uring_prep_connect(&sqe, s.fd, static_cast<const sockaddr*>(s.address), s.length);
      break;
    case operation::receive_multishot:
    case operation::receive_datagrams: prepare_receive(sqe, s); break;
    case operation::receive: io_uring_prep_recv(&sqe, s.fd, s.second, s.length, 0); break;
    case operation::send:
      io_uring_prep_send(&sqe, s.fd, s.address, s.length, MSG_NOSIGNAL);
      brief_sends_ += s.length <= brief_send_bytes;
      break;
    case operation::send_message:
      io_uring_prep_sendmsg(&sqe, s.fd, static_cast<const msghdr*>(s.address), MSG_NOSIGNAL);
      break;
    case operation::poll: io_uring_prep_poll_add(&sqe, s.fd, s.flags); break;
    case operation::open: io_uring_prep_openat(&sqe, s.fd, path, flags, s.mode); break;
    case operation::read: io_uring_prep_read(&sqe, s.fd, s.second, s.length, s.offset); break;
    case operation::write: io_uring_prep_write(&sqe, s.fd, s.address, s.length, s.offset); break;
    case operation::sync: io_uring_prep_fsync(&sqe, s.fd, 0); break;
    case operation::status:
      io_uring_prep_statx(&sqe, s.fd, path, flags, STATX_BASIC_STATS, static_cast<struct statx*>(s.second));
      break;
    case operation::rename:
      io_uring_prep_renameat(&sqe, AT_FDCWD, path, AT_FDCWD, static_cast<const char*>(s.second), 0);
      break;
    case operation::unlink: io_uring_prep_unlinkat(&sqe, AT_FDCWD, path, flags); break;
    case operation::make_directory: io_uring_prep_mkdirat(&sqe, AT_FDCWD, path, s.mode); break;
    case operation::close: io_uring_prep_close(&sqe, s.fd); break;
  }
  io_uring_sqe_set_data(&sqe, &s);
  s.where = place::submitted;
}

void uring_reactor::prepare_receive(io_uring_sqe& sqe, slot& s) const noexcept {
  const bool datagrams = s.kind == operation::receive_datagrams;
  if (!pool_of(s).lends() && !s.polled) {
    io_uring_prep_poll_add(&sqe, s.fd, datagrams ? POLLIN : POLLIN | POLLRDHUP);
  } else if (datagrams && s.polled) {
    datagrams_of(s).prepare_single(sqe, s.fd, s.buffer);
  } else if (datagrams) {
    datagrams_of(s).prepare_multishot(sqe, s.fd);
  } else if (s.polled) {
    io_uring_prep_recv(&sqe, s.fd, s.buffer.data(), s.buffer.capacity(), MSG_DONTWAIT);
  } else {
    io_uring_prep_recv_multishot(&sqe, s.fd, nullptr, 0, 0);
    sqe.flags |= IOSQE_BUFFER_SELECT;
    sqe.buf_group = streams_.ring.group();
  }
}

void uring_reactor::accept_multishot(int fd, io_completion& done) noexcept {
  hand_over(begin(done, operation::accept, fd));
}

void uring_reactor::connect(int fd, const sockaddr* address, socklen_t size, io_completion& done) noexcept {
  slot& s = begin(done, operation::connect, fd);
  s.address = address;
  s.length = size;
  hand_over(s);
}

void uring_reactor::receive_multishot(int fd, io_completion& done) noexcept {
  slot& s = begin(done, operation::receive_multishot, fd);
  s.second = &streams_;
  hand_over(s);
}

result<std::unique_ptr<datagram_buffers>> uring_reactor::make_datagram_buffers(std::uint32_t count,
                                                                               std::size_t datagram_bytes) {
  constexpr std::uint32_t most_buffers = 32768;
  constexpr std::size_t most_bytes = 65535;
  if (count < 1 || count > most_buffers)
    return make_error(errc::invalid_argument, "{} datagram buffers, not 1..{}", count, most_buffers);
  if (datagram_bytes < 1 || datagram_bytes > most_bytes)
    return make_error(errc::invalid_argument, "datagrams of {} bytes, not 1..{}", datagram_bytes, most_bytes);
  const std::uint16_t group = unused_group();
  if (group == 0) return error(errc::busy, "no number left for another ring of buffers");
  return std::unique_ptr<datagram_buffers>(
      std::make_unique<uring_datagram_buffers>(*this, count, datagram_bytes, group));
}

/// 0, which the streams have, if there is none.
std::uint16_t uring_reactor::unused_group() noexcept {
  const auto taken = [this](std::uint16_t group) {
    uring_receive_pool* p = pools_.first();
    while (p != nullptr && p->ring.group() != group) p = pools_.next(*p);
    return p != nullptr;
  };
  std::uint16_t group = 1;
  while (group != 0 && taken(group)) ++group;
  return group;
}

void uring_reactor::adopt(uring_datagram_buffers& pool) noexcept {
  // Without it, as when memory may not be locked, the socket is polled.
  if (features_.multishot_receive_message) static_cast<void>(pool.ring.attach(ring()));
  pools_.push_back(pool);
}

void uring_reactor::release(uring_datagram_buffers& pool) noexcept {
  pool.ring.detach(ring());
  pool.unlink();
}

void uring_reactor::receive_datagrams(int fd, datagram_buffers& into, io_completion& done) noexcept {
  auto& pool = static_cast<uring_datagram_buffers&>(into);
  SCOLL_ASSERT(!pool.receiving, "datagram buffers serve one receive at a time");
  pool.receiving = true;
  slot& s = begin(done, operation::receive_datagrams, fd);
  s.second = static_cast<uring_receive_pool*>(&pool);
  hand_over(s);
}

void uring_reactor::receive(int fd, std::span<std::byte> into, io_completion& done) noexcept {
  slot& s = begin(done, operation::receive, fd);
  s.second = into.data();
  s.length = transfer_bytes(into.size());
  hand_over(s);
}

void uring_reactor::send(int fd, std::span<const std::byte> bytes, io_completion& done) noexcept {
  slot& s = begin(done, operation::send, fd);
  s.address = bytes.data();
  s.length = transfer_bytes(bytes.size());
  hand_over(s);
}

void uring_reactor::send_message(int fd, const msghdr& message, io_completion& done) noexcept {
  slot& s = begin(done, operation::send_message, fd);
  s.address = &message;
  hand_over(s);
}

void uring_reactor::poll(int fd, std::uint32_t events, io_completion& done) noexcept {
  slot& s = begin(done, operation::poll, fd);
  s.flags = events;
  hand_over(s);
}

std::int64_t uring_reactor::send_now(int fd, const msghdr& message) noexcept {
  ++statistics_.enters;
  const ssize_t sent = ::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? -errno : sent;
}

std::int64_t uring_reactor::receive_now(int fd, msghdr& message) noexcept {
  ++statistics_.enters;
  const ssize_t received = ::recvmsg(fd, &message, MSG_DONTWAIT);
  return received < 0 ? -errno : received;
}

void uring_reactor::close_socket(int fd, io_completion& done) noexcept {
  hand_over(begin(done, operation::close, fd));
}

void uring_reactor::open(int directory_fd, const char* path, int flags, mode_t mode,
                         io_completion& done) noexcept {
  slot& s = begin(done, operation::open, directory_fd);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  s.mode = mode;
  hand_over(s);
}

void uring_reactor::read(int fd, std::span<std::byte> into, std::uint64_t offset,
                         io_completion& done) noexcept {
  slot& s = begin(done, operation::read, fd);
  s.second = into.data();
  s.length = transfer_bytes(into.size());
  s.offset = offset;
  hand_over(s);
}

void uring_reactor::write(int fd, std::span<const std::byte> from, std::uint64_t offset,
                          io_completion& done) noexcept {
  slot& s = begin(done, operation::write, fd);
  s.address = from.data();
  s.length = transfer_bytes(from.size());
  s.offset = offset;
  hand_over(s);
}

void uring_reactor::sync(int fd, io_completion& done) noexcept {
  hand_over(begin(done, operation::sync, fd));
}

void uring_reactor::status(int directory_fd, const char* path, int flags, struct statx& out,
                           io_completion& done) noexcept {
  slot& s = begin(done, operation::status, directory_fd);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  s.second = &out;
  hand_over(s);
}

void uring_reactor::rename(const char* from, const char* to, io_completion& done) noexcept {
  slot& s = begin(done, operation::rename, -1);
  s.address = from;
  s.second = const_cast<char*>(to);
  hand_over(s);
}

void uring_reactor::unlink(const char* path, int flags, io_completion& done) noexcept {
  slot& s = begin(done, operation::unlink, -1);
  s.address = path;
  s.flags = static_cast<std::uint32_t>(flags);
  hand_over(s);
}

void uring_reactor::make_directory(const char* path, mode_t mode, io_completion& done) noexcept {
  slot& s = begin(done, operation::make_directory, -1);
  s.address = path;
  s.mode = mode;
  hand_over(s);
}

}  // namespace scoll::transport
