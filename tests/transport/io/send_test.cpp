#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "on_reactor.hpp"
#include "socket_pair.hpp"

// Tests the cost of a send and the time of its completion. Sends that fit report their completion only in the
// next turn that has other work, and the kernel's timer is not set again while it is early enough.

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::transport;
using on_reactor::recorder;
using on_reactor::settle;
using on_reactor::turn_until;

namespace {

using results = std::vector<std::int32_t>;

using ends = socket_ends;

/// Sends all received bytes back until the other end closes.
class echo_thread {
 public:
  explicit echo_thread(int fd)
      : thread_([fd] {
          std::array<std::byte, 64> some;
          for (ssize_t n = 0; (n = ::recv(fd, some.data(), some.size(), 0)) > 0;)
            if (::send(fd, some.data(), static_cast<std::size_t>(n), MSG_NOSIGNAL) != n) return;
        }) {}
  ~echo_thread() { thread_.join(); }

 private:
  std::thread thread_;
};

/// A timer far in the future, such as operations have.
struct distant final : timer_node {
  distant() noexcept : timer_node([](timer_node&) noexcept {}) {}
  ~distant() = default;
};

constexpr std::array<std::byte, 10> few{};

/// True if `expected` submissions were made since `before`. On the ring, a wait that needed a limit would add
/// one.
bool submitted(const reactor& r, const reactor_statistics& before, std::uint64_t expected) {
  return on_reactor::on_poll() || r.statistics().submissions - before.submissions == expected;
}

}  // namespace

TEST_CASE("a send and the wait for what answers it are one system call, timers armed or not",
          "[reactor][io_uring]") {
  const auto r = on_reactor::make();
  ends pair = socket_pair();
  recorder received;
  r->receive_multishot(pair.near.get(), received);
  {
    const echo_thread other(pair.far.get());
    distant deadline;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max(), submitted = least;
    for (int round = 0; round < 200; ++round) {
      const reactor_statistics before = r->statistics();
      recorder sent;
      r->arm(deadline, r->now() + 10s);
      r->send_deferred(pair.near.get(), few, sent);
      const std::size_t heard = received.results.size();
      turn_until(*r, [&] { return received.results.size() > heard; });
      CHECK(sent.results == results{10});
      r->disarm(deadline);
      // The thread may be slow, so that the limit of deferred sends passes meanwhile.
      least = std::min(least, r->statistics().enters - before.enters);
      submitted = std::min(submitted, r->statistics().submissions - before.submissions);
    }
    CHECK(least == 1);
    CHECK(submitted == 1);  // the kernel's timer is not among them
    ::shutdown(pair.near.get(), SHUT_WR);
  }
  pair.far.reset();
  turn_until(*r, [&] { return received.ended; });
}

TEST_CASE("a lazy send completes by itself, and at once when somebody waits for it", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  const ends pair = socket_pair();
  recorder sent;
  r->send_deferred(pair.near.get(), few, sent);
  CHECK(sent.results.empty());
  turn_until(*r, [&] { return sent.ended; });
  CHECK(sent.results == results{10});

  const reactor_statistics before = r->statistics();
  recorder awaited;
  r->send_deferred(pair.near.get(), few, awaited);
  r->flush(awaited);
  r->run_once(10s);
  r->run_once(0s);
  CHECK(awaited.results == results{10});
  CHECK(submitted(*r, before, 1));

  recorder cancelled;
  r->send_deferred(pair.near.get(), few, cancelled);
  r->cancel(cancelled);
  r->run_once(10s);
  r->run_once(0s);
  REQUIRE(cancelled.results.size() == 1);
  CHECK((cancelled.results.front() == 10 || cancelled.results.front() == -ECANCELED));
  r->flush(sent);  // harmless
  r->flush(awaited);
}

TEST_CASE("a send nobody calls lazy completes without anything else happening", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  const ends pair = socket_pair();
  const reactor_statistics before = r->statistics();
  for (int i = 0; i < 100; ++i) {
    recorder sent;
    r->send(pair.near.get(), few, sent);
    r->run_once(10s);
    r->run_once(0s);
    REQUIRE(sent.results == results{10});
  }
  CHECK(submitted(*r, before, 100));
  CHECK(drain(pair.far.get()) == 1000);
}

TEST_CASE("a full socket holds a send up, and nothing of it is lost or sent twice", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const bool lazy = GENERATE(false, true);
  const auto r = on_reactor::make({.disable = disable});
  const ends pair = socket_pair();
  const std::vector<std::byte> batch(5000);
  std::size_t sent_bytes = 0, read_bytes = 0;
  const auto send_rest = [&](recorder& one, std::size_t done) {
    const auto rest = std::span(batch).subspan(done);
    lazy ? r->send_deferred(pair.near.get(), rest, one) : r->send(pair.near.get(), rest, one);
  };
  bool was_full = false;
  for (int i = 0; i < 200; ++i) {
    for (std::size_t done = 0; done < batch.size();) {
      recorder one;
      send_rest(one, done);
      settle(*r);
      if (!one.ended) {
        was_full = true;
        read_bytes += drain(pair.far.get());
        turn_until(*r, [&] { return one.ended; });
      }
      REQUIRE(one.results.size() == 1);
      REQUIRE(one.results.front() > 0);
      done += static_cast<std::size_t>(one.results.front());
      sent_bytes += static_cast<std::size_t>(one.results.front());
    }
  }
  CHECK(was_full);
  read_bytes += drain(pair.far.get());
  CHECK(sent_bytes == 200 * batch.size());
  CHECK(read_bytes == sent_bytes);
}

TEST_CASE("a send on a broken connection fails, whoever waits for it", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  ends pair = socket_pair();
  pair.far.reset();
  recorder lazy, plain;
  r->send_deferred(pair.near.get(), few, lazy);
  turn_until(*r, [&] { return lazy.ended; });
  CHECK(lazy.results == results{-EPIPE});
  r->send(pair.near.get(), few, plain);
  turn_until(*r, [&] { return plain.ended; });
  CHECK(plain.results == results{-EPIPE});
}

TEST_CASE("more sends than the queue has room for all complete", "[reactor]") {
  const auto r = on_reactor::make({.submission_entries = 16});
  const ends pair = socket_pair();
  std::vector<std::unique_ptr<recorder>> all;
  for (int i = 0; i < 100; ++i) {
    all.push_back(std::make_unique<recorder>());
    r->send_deferred(pair.near.get(), few, *all.back());
  }
  turn_until(*r, [&] { return std::ranges::all_of(all, [](const auto& one) { return one->ended; }); });
  for (const auto& one : all) CHECK(one->results == results{10});
  CHECK(drain(pair.far.get()) == 1000);
}

TEST_CASE("a timer that comes before the kernel's is told it, one that comes later is in time", "[reactor]") {
  const auto r = on_reactor::make();
  struct alarm final : timer_node {
    alarm() noexcept : timer_node([](timer_node& n) noexcept { static_cast<alarm&>(n).rang = true; }) {}
    ~alarm() = default;
    bool rang = false;
  };
  for (int round = 0; round < 3; ++round) {
    alarm late, soon, between;
    const time_point begun = r->now();
    r->arm(late, begun + 10s);
    r->run_once(0s);
    CHECK_FALSE(r->run_once(1ms));  // the kernel's timer is set for the turn's own limit
    r->arm(soon, r->now() + 2ms);
    turn_until(*r, [&] { return soon.rang; });
    r->arm(between, r->now() + 4ms);
    turn_until(*r, [&] { return between.rang; });
    CHECK_FALSE(late.rang);
    CHECK(r->now() - begun < 10s);
    r->disarm(late);
  }
}
