#include <liburing.h>
#include <sys/socket.h>

#include <stdexcept>

#include "raw_tree.hpp"

namespace bench::bcast {
namespace {

/// Successful sends post no completion, so that a wait ends only for arrivals. The sent bytes may be reused
/// when the answer has arrived, because the peer that answered has received them.
class uring_node {
 public:
  uring_node(raw_place& place, const setting& s)
      : place_(place), payload_(s.size), replies_(place.children().size()) {
    io_uring_params params{};
    params.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    if (io_uring_queue_init_params(256, &ring_, &params) != 0)
      throw std::runtime_error("io_uring with deferred task work is not offered here");
    io_uring_register_ring_fd(&ring_);
  }
  ~uring_node() { io_uring_queue_exit(&ring_); }

  std::uint64_t broadcast() {
    syscalls_ = 0;
    const std::uint64_t sum = forward_and_gather();
    place_.count(syscalls_);
    return sum;
  }

  /// The answer leaves with the wait for the next request.
  void serve_one() {
    syscalls_ = 0;
    for (received_ = 0; received_ < payload_.size();) {
      receive(place_.parent(), payload_.data() + received_, payload_.size() - received_, parent_tag);
      turn();
    }
    place_.reached();
    answer_ = forward_and_gather();
    send(place_.parent(), &answer_, sizeof answer_);
    place_.count(syscalls_);
  }

 private:
  static constexpr std::uint64_t parent_tag = UINT64_MAX;
  static constexpr std::uint64_t send_tag = UINT64_MAX - 1;

  void send(int fd, const void* bytes, std::size_t size) {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_send(sqe, fd, bytes, size, MSG_NOSIGNAL | MSG_WAITALL);
    io_uring_sqe_set_flags(sqe, IOSQE_CQE_SKIP_SUCCESS);
    io_uring_sqe_set_data64(sqe, send_tag);
  }
  /// Replies are shorter than any segment and arrive whole; requests may arrive in pieces.
  void receive(int fd, void* into, std::size_t size, std::uint64_t tag) {
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);
    io_uring_prep_recv(sqe, fd, into, size, tag == parent_tag ? 0 : MSG_WAITALL);
    io_uring_sqe_set_data64(sqe, tag);
  }

  std::uint64_t forward_and_gather() {
    for (const unique_fd& child : place_.children()) send(child.get(), payload_.data(), payload_.size());
    for (std::size_t i = 0; i < replies_.size(); ++i)
      receive(place_.children()[i].get(), &replies_[i], sizeof replies_[i], i);
    missing_ = replies_.size();
    while (missing_ != 0) turn();
    std::uint64_t sum = place_.own_value();
    for (const std::uint64_t reply : replies_) sum += reply;
    return sum;
  }

  /// Submits requests, and takes the arrived completions once there are any.
  void turn() {
    io_uring_submit_and_wait(&ring_, 1);
    ++syscalls_;
    unsigned head = 0, count = 0;
    io_uring_cqe* done = nullptr;
    io_uring_for_each_cqe(&ring_, head, done) {
      ++count;
      if (done->res <= 0) throw std::runtime_error("a connection broke");
      if (done->user_data == parent_tag) {
        received_ += static_cast<std::size_t>(done->res);
      } else {
        --missing_;
      }
    }
    io_uring_cq_advance(&ring_, count);
  }

  raw_place& place_;
  std::vector<std::byte> payload_;
  std::size_t received_ = 0;
  std::vector<std::uint64_t> replies_;
  std::size_t missing_ = 0;
  std::uint64_t answer_ = 0;
  std::uint64_t syscalls_ = 0;
  io_uring ring_{};
};

}  // namespace

void play_raw_uring(member& me, const setting& s) {
  raw_place place(me, s);
  uring_node node(place, s);
  play_raw(place, node, s);
}

}  // namespace bench::bcast
