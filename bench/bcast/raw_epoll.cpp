#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "raw_tree.hpp"

namespace bench::bcast {
namespace {

class epoll_node {
 public:
  epoll_node(raw_place& place, const setting& s)
      : place_(place),
        payload_(s.size),
        replies_(place.children().size()),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (!place.is_root()) watch(place.parent(), parent_tag);
    for (std::uint32_t i = 0; i < replies_.size(); ++i) watch(place.children()[i].get(), i);
  }

  std::uint64_t broadcast() {
    syscalls_ = 0;
    const std::uint64_t sum = forward_and_gather();
    place_.count(syscalls_);
    return sum;
  }

  void serve_one() {
    syscalls_ = 0;
    while (received_ < payload_.size()) turn();
    received_ = 0;
    place_.reached();
    const std::uint64_t sum = forward_and_gather();
    send_all(place_.parent(), &sum, sizeof sum);
    place_.count(syscalls_ + 1);
  }

 private:
  static constexpr std::uint32_t parent_tag = UINT32_MAX;
  struct partial {
    std::uint64_t value = 0;
    std::size_t received = 0;
  };

  void watch(int fd, std::uint32_t tag) {
    epoll_event wanted{};
    wanted.events = EPOLLIN;
    wanted.data.u32 = tag;
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) fail("epoll_ctl");
  }

  std::uint64_t forward_and_gather() {
    std::uint64_t sum = place_.own_value();
    for (const unique_fd& child : place_.children()) send_all(child.get(), payload_.data(), payload_.size());
    syscalls_ += replies_.size();
    missing_ = replies_.size();
    while (missing_ != 0) turn();
    for (partial& reply : replies_) {
      sum += reply.value;
      reply = {};
    }
    return sum;
  }

  void turn() {
    std::array<epoll_event, 64> events;
    const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), -1);
    if (count < 0 && errno != EINTR) fail("epoll_wait");
    ++syscalls_;
    for (int i = 0; i < count; ++i) {
      const std::uint32_t tag = events[static_cast<std::size_t>(i)].data.u32;
      if (tag == parent_tag) {
        receive(place_.parent(), payload_.data(), payload_.size(), received_);
      } else {
        partial& reply = replies_[tag];
        receive(place_.children()[tag].get(), &reply.value, sizeof reply.value, reply.received);
        if (reply.received == sizeof reply.value) --missing_;
      }
    }
  }

  void receive(int fd, void* into, std::size_t size, std::size_t& have) {
    ++syscalls_;
    const ssize_t got = recv(fd, static_cast<std::byte*>(into) + have, size - have, MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) fail("recv");
    have += static_cast<std::size_t>(got);
  }

  raw_place& place_;
  std::vector<std::byte> payload_;
  std::size_t received_ = 0;
  std::vector<partial> replies_;
  std::size_t missing_ = 0;
  std::uint64_t syscalls_ = 0;
  unique_fd epoll_;
};

}  // namespace

void play_raw_epoll(member& me, const setting& s) {
  raw_place place(me, s);
  epoll_node node(place, s);
  play_raw(place, node, s);
}

}  // namespace bench::bcast
