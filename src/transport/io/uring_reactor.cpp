#include "transport/io/uring_reactor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "scoll/coro/error_format.hpp"

namespace scoll::transport {
namespace {

// This many bytes fit an empty socket buffer of any usual size.
constexpr std::uint32_t brief_send_bytes = 16384;

}  // namespace

result<std::unique_ptr<reactor>> uring_reactor::create(const reactor_options& options) {
  std::unique_ptr<uring_reactor> made(new uring_reactor(options));
  if (const status opened = made->open_ring(options); !opened) return opened.error();
  return std::unique_ptr<reactor>(std::move(made));
}

uring_reactor::uring_reactor(const reactor_options& options)
    : streams_(*this, options.receive_buffer_bytes, options.receive_buffer_limit, options.receive_buffers,
               0) {
  pools_.push_back(streams_);
}

status uring_reactor::open_ring(const reactor_options& options) {
  if (const status opened = ring_.open(options, features_); !opened) return opened;
  if (const status woken = open_wakeups(); !woken) return woken;
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
  end_threads();
  SCOLL_ASSERT(pools_.next(streams_) == nullptr, "a reactor died before its datagram buffers");
  streams_.ring.detach(ring());
}

/// If completions are deferred to this thread, the ring's own descriptor does not wake a poll when they
/// arrive, but an event descriptor of the ring does. Only hosts pay for it.
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

void uring_reactor::hand_over(slot& s) noexcept {
  // Waiting operations keep their order; the turn moves them on.
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
    end(s, -ECANCELED);  // the kernel may have handled the cancel between two operations
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
  pool_of(s).pause(s);
}

// Resumes as many receives as there are buffers, because more would starve each other again. If one does not
// need its buffer, the end of the turn resumes the next.
void uring_reactor::resume_paused(uring_receive_pool& pool) noexcept {
  if (pool.lends()) pool.ring.replenish();
  std::uint32_t budget = pool.lends() ? std::min(pool.ring.provided(), pool.paused_count) : pool.paused_count;
  while (budget-- != 0 && pool.at_hand()) {
    slot& s = pool.take_paused();
    if (pool.lends()) {
      hand_over(s);
    } else {
      fill_receive_buffer(s);
    }
  }
}

void uring_reactor::fill_receive_buffer(slot& s) noexcept {
  s.buffer = pool_of(s).buffers.try_acquire();
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
    case place::paused:
      pool_of(s).forget_paused(s);
      end(s, -ECANCELED);
      break;
    case place::queued:
      s.unlink();
      end(s, -ECANCELED);
      break;
    case place::submitted:
      if (s.silent) break;  // it ends by itself when it is submitted
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
    case opcode::none:
    case opcode::list: break;  // the ring has no such operation
    case opcode::accept:
      io_uring_prep_accept(&sqe, s.fd, nullptr, nullptr, SOCK_CLOEXEC);
      if (features_.multishot_accept) sqe.ioprio |= IORING_ACCEPT_MULTISHOT;
      break;
    case opcode::connect:
      io_uring_prep_connect(&sqe, s.fd, static_cast<const sockaddr*>(s.address), s.length);
      break;
    case opcode::receive_multishot:
    case opcode::receive_datagrams: prepare_receive(sqe, s); break;
    case opcode::receive: io_uring_prep_recv(&sqe, s.fd, s.second, s.length, 0); break;
    case opcode::send: prepare_send(sqe, s); break;
    case opcode::send_message:
      io_uring_prep_sendmsg(&sqe, s.fd, static_cast<const msghdr*>(s.address), MSG_NOSIGNAL);
      break;
    case opcode::poll: io_uring_prep_poll_add(&sqe, s.fd, s.flags); break;
    case opcode::open: io_uring_prep_openat(&sqe, s.fd, path, flags, s.mode); break;
    case opcode::read: io_uring_prep_read(&sqe, s.fd, s.second, s.length, s.offset); break;
    case opcode::write: io_uring_prep_write(&sqe, s.fd, s.address, s.length, s.offset); break;
    case opcode::sync: io_uring_prep_fsync(&sqe, s.fd, 0); break;
    case opcode::stat:
      io_uring_prep_statx(&sqe, s.fd, path, flags, STATX_BASIC_STATS, static_cast<struct statx*>(s.second));
      break;
    case opcode::rename:
      io_uring_prep_renameat(&sqe, AT_FDCWD, path, AT_FDCWD, static_cast<const char*>(s.second), 0);
      break;
    case opcode::unlink: io_uring_prep_unlinkat(&sqe, AT_FDCWD, path, flags); break;
    case opcode::make_directory: io_uring_prep_mkdirat(&sqe, AT_FDCWD, path, s.mode); break;
    case opcode::close: io_uring_prep_close(&sqe, s.fd); break;
  }
  io_uring_sqe_set_data(&sqe, &s);
  s.where = place::submitted;
}

/// A send that fits the socket is complete once it is submitted. A completion for it would end a wait for the
/// answer too early. So the kernel reports only failures: the send must take all bytes or none, at once.
void uring_reactor::prepare_send(io_uring_sqe& sqe, slot& s) noexcept {
  s.silent = s.length <= brief_send_bytes && !s.patient && ring_.skips_success_events();
  const int silently = s.silent ? MSG_DONTWAIT | MSG_WAITALL : 0;
  io_uring_prep_send(&sqe, s.fd, s.address, s.length, MSG_NOSIGNAL | silently);
  if (!s.silent) return;
  sqe.flags |= IOSQE_CQE_SKIP_SUCCESS;
  silent_.push_back(s);
}

void uring_reactor::prepare_receive(io_uring_sqe& sqe, slot& s) const noexcept {
  const bool datagrams = s.kind == opcode::receive_datagrams;
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

void uring_reactor::receive_multishot(int fd, io_completion& done) noexcept {
  begin_pooled(done, opcode::receive_multishot, fd, streams_);
}

result<std::unique_ptr<datagram_buffers>> uring_reactor::new_datagram_buffers(std::uint32_t count,
                                                                              std::size_t datagram_bytes) {
  const std::uint16_t group = unused_group();
  if (group == 0) return error(errc::busy, "there is no free number for another ring of receive buffers");
  return std::unique_ptr<datagram_buffers>(
      std::make_unique<uring_datagram_buffers>(*this, count, datagram_bytes, group));
}

/// Finds a free group number; 0, which belongs to the streams, if there is none.
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
  // If it fails, because memory may not be locked for example, the socket is polled.
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
  begin_pooled(done, opcode::receive_datagrams, fd, pool);
}

}  // namespace scoll::transport
