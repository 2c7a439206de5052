#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "bench/bcast/raw_tree.hpp"
#include "bench/kit/pace.hpp"
#include "load.hpp"
#include "raw_stream.hpp"

namespace bench::load {
namespace {

using bcast::raw_place;

/// A process of a tree through which requests pass one behind the other. Replies come from each child in the
/// order of the requests, so a request needs no number.
class raw_node {
 public:
  raw_node(raw_place& place, const bcast::setting& s)
      : place_(place),
        setting_(s),
        payload_(s.size),
        replied_(place.children().size()),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    streams_.reserve(replied_.size() + 1);
    for (const unique_fd& child : place.children()) watch(child.get(), sizeof(std::uint64_t));
    if (!place.is_root()) watch(place.parent(), payload_.size());
  }

  /// At the root.
  void begin(std::uint32_t) { pass_on(payload_); }
  template <class Ended>
  void await(std::int64_t until_ns, Ended&& ended) {
    flush();
    turn(until_ns);
    for_each_ended([&](std::uint64_t sum) {
      if (sum != setting_.expected_sum()) throw std::runtime_error("the sum is wrong");
      ended(ended_++);
    });
    place_.count(std::exchange(syscalls_, 0));
  }
  void forget_numbers() noexcept { ended_ = 0; }

  /// Elsewhere.
  void serve() {
    turn(INT64_MAX);
    for_each_ended([&](std::uint64_t sum) { streams_.back().put(std::as_bytes(std::span(&sum, 1))); });
    flush();
    place_.count(std::exchange(syscalls_, 0));
  }

 private:
  struct request {
    std::uint64_t sum = 0;
    std::size_t missing = 0;
  };

  void watch(int fd, std::size_t incoming_size) {
    epoll_event wanted{};
    wanted.events = EPOLLIN | EPOLLOUT | EPOLLET;
    wanted.data.u32 = static_cast<std::uint32_t>(streams_.size());
    if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &wanted) != 0) fail("epoll_ctl");
    streams_.emplace_back(fd, incoming_size);
  }

  void pass_on(std::span<const std::byte> bytes) {
    for (std::size_t i = 0; i < replied_.size(); ++i) streams_[i].put(bytes);
    under_way_.push_back({place_.own_value(), replied_.size()});
  }

  void take_reply(std::size_t child, std::span<const std::byte> bytes) {
    request& of = under_way_[replied_[child]++ - first_];
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    of.sum += value;
    --of.missing;
  }

  template <class Take>
  void for_each_ended(Take&& take) {
    for (; !under_way_.empty() && under_way_.front().missing == 0; ++first_) {
      take(under_way_.front().sum);
      under_way_.pop_front();
    }
  }

  void turn(std::int64_t until_ns) {
    std::array<epoll_event, 64> events;
    timespec left{};
    const std::int64_t ns = std::max<std::int64_t>(0, until_ns - now_ns());
    left.tv_sec = ns / 1'000'000'000;
    left.tv_nsec = ns % 1'000'000'000;
    const int count = epoll_pwait2(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                   until_ns == INT64_MAX ? nullptr : &left, nullptr);
    if (count < 0 && errno != EINTR) fail("epoll_pwait2");
    ++syscalls_;
    for (int i = 0; i < count; ++i) {
      const epoll_event& happened = events[static_cast<std::size_t>(i)];
      if ((happened.events & ~EPOLLOUT) != 0) receive(happened.data.u32);
    }
  }

  void receive(std::size_t which) {
    syscalls_ += streams_[which].receive([&](std::span<const std::byte> message) {
      which < replied_.size() ? take_reply(which, message) : pass_on(message);
    });
  }

  void flush() {
    for (raw_stream& s : streams_) syscalls_ += s.flush();
  }

  raw_place& place_;
  bcast::setting setting_;
  std::vector<std::byte> payload_;
  std::vector<raw_stream> streams_;     ///< the children's, then the parent's
  std::vector<std::uint64_t> replied_;  ///< how often each child has
  std::deque<request> under_way_;
  std::uint64_t first_ = 0;  ///< the number of the first of them
  std::uint32_t ended_ = 0;
  std::uint64_t syscalls_ = 0;
  unique_fd epoll_;
};

}  // namespace

void play_raw(member& me, const bcast::setting& s) {
  raw_place place(me, s);
  raw_node node(place, s);
  me.ready();
  while (me.index() != 0) node.serve();
  while (const auto next = me.next_order()) {
    node.forget_numbers();
    carry_out(node, me, *next);
    me.done(next->operations);
  }
}

}  // namespace bench::load
