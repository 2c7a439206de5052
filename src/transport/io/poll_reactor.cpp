#include "transport/io/poll_reactor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace scoll::transport {
namespace {

bool is_send(const detail::io_slot& s) noexcept {
  using opcode = detail::io_slot::opcode;
  return s.kind == opcode::send || s.kind == opcode::send_message;
}

}  // namespace

result<std::unique_ptr<reactor>> poll_reactor::create(const reactor_options& options, std::string_view why) {
  std::unique_ptr<poll_reactor> made(new poll_reactor(options));
  if (const status opened = made->set_up(why); !opened) return opened.error();
  return std::unique_ptr<reactor>(std::move(made));
}

poll_reactor::poll_reactor(const reactor_options& options)
    : streams_(*this, &resume_paused, options.receive_buffer_bytes, options.receive_buffer_limit) {
  pools_.push_back(streams_);
}

status poll_reactor::set_up(std::string_view why) {
  utsname names{};
  features_.backend = "poll";
  features_.kernel = uname(&names) == 0 ? names.release : "unknown";
  features_.notes = why;
  if (const status opened = interests_.open(); !opened) return opened;
  if (const status opened = open_wakeups(); !opened) return opened;
  if (const int failed = interests_.watch_wakeups(wake_fd_.get()); failed != 0)
    return error::system(failed, "epoll_ctl");
  read_time();  // timers may be armed before the first turn
  return {};
}

poll_reactor::~poll_reactor() {
  end_threads();
  SCOLL_ASSERT(pools_.next(streams_) == nullptr, "a reactor died before its datagram buffers");
}

int poll_reactor::pollable_fd() noexcept {
  hosted_ = true;
  return interests_.descriptor();
}

void poll_reactor::hand_over(slot& s) noexcept {
  s.watched = false;
  switch (s.kind) {
    case opcode::open:
    case opcode::read:
    case opcode::write:
    case opcode::sync:
    case opcode::stat:
    case opcode::rename:
    case opcode::unlink:
    case opcode::make_directory: return hand_to_thread(s);
    default: break;
  }
  ++statistics_.submissions;
  if (s.kind == opcode::close || watch(s)) queue(s);
}

/// Registers the operation's descriptor. False if that fails: then the operation has ended.
bool poll_reactor::watch(slot& s) noexcept {
  if (s.fd < 0) {
    conclude(s, -EBADF);
    return false;
  }
  interests_.enter(s.fd);
  return s.watched = true;
}

/// Takes an operation back from a thread. If the thread found no file: pipes and terminals are ready, or not,
/// as sockets are.
void poll_reactor::returned(slot& s) noexcept {
  const bool stream = s.result == -ESPIPE && (s.kind == opcode::read || s.kind == opcode::write);
  if (!stream) return conclude(s, s.result);
  if (!watch(s)) return;
  s.where = place::submitted;
  wait_for(s, true);
}

void poll_reactor::receive_multishot(int fd, io_completion& done) noexcept {
  begin_pooled(done, opcode::receive_multishot, fd, streams_);
}

result<std::unique_ptr<datagram_buffers>> poll_reactor::new_datagram_buffers(std::uint32_t count,
                                                                             std::size_t datagram_bytes) {
  return std::unique_ptr<datagram_buffers>(
      std::make_unique<poll_datagram_buffers>(*this, count, datagram_bytes));
}

void poll_reactor::receive_datagrams(int fd, datagram_buffers& into, io_completion& done) noexcept {
  auto& pool = static_cast<poll_datagram_buffers&>(into);
  SCOLL_ASSERT(!pool.receiving, "datagram buffers serve one receive at a time");
  pool.receiving = true;
  begin_pooled(done, opcode::receive_datagrams, fd, pool);
}

void poll_reactor::queue(slot& s) noexcept {
  s.where = place::queued;
  queued_.push_back(s);
}

/// Attempts the operations that have begun. It delivers nothing, because it may be called from within a
/// callback.
void poll_reactor::start_queued() noexcept {
  const bool idle = !has_ready();
  while (!queued_.empty()) start(queued_.pop_front());
  tells_only_ = (tells_only_ || idle) && has_ready();
}

void poll_reactor::start(slot& s) noexcept {
  if (s.cancelling && !is_send(s)) return conclude(s, -ECANCELED);
  s.where = place::submitted;
  switch (s.kind) {
    case opcode::accept: return believe_ready(s);
    case opcode::receive_multishot:
    case opcode::receive_datagrams:
    case opcode::poll: return wait_for(s, true);
    default: return attempt(s);
  }
}

std::uint32_t poll_reactor::events_for(const slot& s) noexcept {
  switch (s.kind) {
    case opcode::receive_multishot:
    case opcode::receive: return EPOLLIN | EPOLLRDHUP;
    case opcode::connect:
    case opcode::send:
    case opcode::send_message:
    case opcode::write: return EPOLLOUT;
    case opcode::poll: return s.flags;
    default: return EPOLLIN;
  }
}

/// Has the operation wait for its descriptor. If `anew`, the kernel checks whether it is ready already;
/// otherwise the kernel has just said that it is not.
void poll_reactor::wait_for(slot& s, bool anew) noexcept {
  if (s.cancelling) return conclude(s, -ECANCELED);
  const int failed = interests_.ask(s.fd, events_for(s), anew);
  // Files are always ready.
  if (failed == EPERM && s.kind == opcode::poll)
    return conclude(s, static_cast<std::int32_t>(s.flags & (POLLIN | POLLOUT)));
  if (failed != 0) return conclude(s, -failed);
  interests_.of(s.fd).waiting.push_back(s);
}

/// Has the operation attempted in the next turn, until the descriptor has nothing left, because it is unknown
/// what has happened meanwhile.
void poll_reactor::believe_ready(slot& s) noexcept {
  s.where = place::submitted;
  s.result = EPOLLRDHUP;
  ready_.push_back(s);
}

void poll_reactor::pause(slot& s) noexcept {
  ++statistics_.receive_starved;
  pool_of(s).dry = true;
  pool_of(s).pause(s);
}

// Resumes as many receives as there are buffers, because more would starve each other again; and one at
// least, so that the pool knows that some wait. If one does not need its buffer, the end of the turn resumes
// the next.
void poll_reactor::resume_paused(ready_node& node) noexcept {
  auto& pool = static_cast<receive_buffers&>(node);
  auto& self = static_cast<poll_reactor&>(pool.home());
  const std::size_t room = pool.buffers.limit() - pool.buffers.lent() + 1;
  for (auto budget = std::min<std::size_t>(room, pool.paused_count); budget != 0; --budget)
    self.believe_ready(pool.take_paused());
}

void poll_reactor::conclude(slot& s, std::int32_t outcome) noexcept {
  ++statistics_.completions;
  if (std::exchange(s.watched, false)) interests_.leave(s.fd);
  end(s, outcome);
}

void poll_reactor::cancel(io_completion& done) noexcept {
  slot& s = slot_of(done);
  if (!done.pending() || s.cancelling) return;
  s.cancelling = true;
  if (s.where == place::paused) {
    pool_of(s).forget_paused(s);
    queue(s);
  } else if (s.where == place::submitted) {
    s.unlink();
    queue(s);
  }
}

/// Ends the operations that still use a descriptor, because the next descriptor of this number could not be
/// told from it.
void poll_reactor::drop_pending(int fd) noexcept {
  poll_interests::watch* const w = interests_.find(fd);
  if (w == nullptr) return;
  interests_.forget(fd);
  while (!w->waiting.empty()) conclude(w->waiting.pop_front(), -ECANCELED);
  if (w->pending == 0) return;
  drop_from(ready_, fd);
  drop_from(trying_, fd);
  for (receive_buffers* p = pools_.first(); p != nullptr; p = pools_.next(*p)) drop_from(p->paused, fd);
}

void poll_reactor::drop_from(intrusive_list<slot>& list, int fd) noexcept {
  for (slot* s = list.first(); s != nullptr;) {
    slot* const next = list.next(*s);
    if (s->fd == fd) {
      if (s->where == place::paused) --pool_of(*s).paused_count;
      s->unlink();
      conclude(*s, -ECANCELED);
    }
    s = next;
  }
}

void poll_reactor::close_file(int fd, io_completion& done) noexcept {
  drop_pending(fd);
  hand_to_thread(begin(done, opcode::close, fd));
}

void poll_reactor::abandon_file(int fd) noexcept {
  drop_pending(fd);
  unique_fd(fd).reset();
}

}  // namespace scoll::transport
