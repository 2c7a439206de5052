#include <liburing.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

#include "bench/kit/pair.hpp"
#include "rtt.hpp"

namespace bench::rtt {
namespace {

/// Process 0 asks and waits when ordered to, process 1 answers for ever.
template <class Connection>
void play(member& me, Connection& connection) {
  me.ready();
  if (me.index() == 0) {
    me.serve([&] {
      connection.send();
      connection.receive();
    });
  }
  while (me.index() != 0) {
    connection.receive();
    connection.send();
  }
}

class blocking {
 public:
  blocking(member& me, const setting& s)
      : me_(me), fd_(join_pair(me, s.congestion_control)), bytes_(s.size) {}
  void send() {
    send_all(fd_.get(), bytes_.data(), bytes_.size());
    ++me_.page().syscalls;
  }
  void receive() {
    receive_all(fd_.get(), bytes_.data(), bytes_.size());
    ++me_.page().syscalls;
  }

 private:
  member& me_;
  unique_fd fd_;
  std::vector<std::byte> bytes_;
};

class epoll {
 public:
  epoll(member& me, const setting& s)
      : me_(me),
        fd_(join_pair(me, s.congestion_control)),
        bytes_(s.size),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd_.get(), &wanted) != 0) fail("epoll_ctl");
  }
  void send() {
    send_all(fd_.get(), bytes_.data(), bytes_.size());
    ++me_.page().syscalls;
  }
  void receive() {
    for (std::size_t have = 0; have < bytes_.size();) {
      epoll_event happened;
      if (epoll_wait(epoll_.get(), &happened, 1, -1) < 0 && errno != EINTR) fail("epoll_wait");
      const ssize_t got = recv(fd_.get(), bytes_.data() + have, bytes_.size() - have, MSG_DONTWAIT);
      me_.page().syscalls += 2;
      if (got < 0 && errno == EAGAIN) continue;
      if (got <= 0) fail("recv");
      have += static_cast<std::size_t>(got);
    }
  }

 private:
  member& me_;
  unique_fd fd_;
  std::vector<std::byte> bytes_;
  unique_fd epoll_;
};

/// Successful sends post no completion, so that the wait submitted with them ends only for the answer. Their
/// bytes may be reused then: a message that was answered has been received.
class uring {
 public:
  uring(member& me, const setting& s)
      : me_(me), fd_(join_pair(me, s.congestion_control)), outgoing_(s.size), incoming_(s.size) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    if (io_uring_queue_init_params(8, &ring_, &params) != 0)
      throw std::runtime_error("io_uring with deferred task work is not offered here");
    io_uring_register_ring_fd(&ring_);
  }
  ~uring() { io_uring_queue_exit(&ring_); }

  void send() {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_send(sqe, fd_.get(), outgoing_.data(), outgoing_.size(), MSG_NOSIGNAL | MSG_WAITALL);
    io_uring_sqe_set_flags(sqe, IOSQE_CQE_SKIP_SUCCESS);
  }
  void receive() {
    for (std::size_t have = 0; have < incoming_.size();) {
      io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
      io_uring_prep_recv(sqe, fd_.get(), incoming_.data() + have, incoming_.size() - have, 0);
      io_uring_submit_and_wait(&ring_, 1);
      ++me_.page().syscalls;
      io_uring_cqe* done = nullptr;
      if (io_uring_peek_cqe(&ring_, &done) != 0) throw std::runtime_error("the ring gave nothing");
      if (done->res <= 0) throw std::runtime_error("the connection broke");
      have += static_cast<std::size_t>(done->res);
      io_uring_cqe_seen(&ring_, done);
    }
  }

 private:
  member& me_;
  unique_fd fd_;
  std::vector<std::byte> outgoing_, incoming_;
  io_uring ring_{};
};

template <class Connection>
void play_over(member& me, const setting& s) {
  Connection connection(me, s);
  play(me, connection);
}

}  // namespace

void play_blocking(member& me, const setting& s) {
  play_over<blocking>(me, s);
}
void play_epoll(member& me, const setting& s) {
  play_over<epoll>(me, s);
}
void play_uring(member& me, const setting& s) {
  play_over<uring>(me, s);
}

}  // namespace bench::rtt
