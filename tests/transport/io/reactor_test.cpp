#include "transport/io/reactor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "on_reactor.hpp"
#include "scoll/coro/error_format.hpp"
#include "seccomp.hpp"
#include "transport/io/socket.hpp"

using namespace std::chrono_literals;
using namespace scoll;
using namespace scoll::transport;
using on_reactor::recorder;

// Cases about io_uring alone, its features and the reasons that forbid it, have a tag and are left out when
// these tests run on poll.

namespace {

time_point clock_now() {
  return time_point(
      std::chrono::duration_cast<nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()));
}

unique_fd make_event(unsigned count) {
  return unique_fd(eventfd(count, EFD_CLOEXEC | EFD_NONBLOCK));
}

class alarm_timer final : public timer_node {
 public:
  alarm_timer() noexcept : timer_node(&fired) {}
  ~alarm_timer() = default;
  int fires = 0;
  time_point fired_at{};
  std::vector<int>* order = nullptr;
  int number = 0;

 private:
  static void fired(timer_node& node) noexcept {
    auto& self = static_cast<alarm_timer&>(node);
    ++self.fires;
    self.fired_at = clock_now();
    if (self.order != nullptr) self.order->push_back(self.number);
  }
};

class step final : public ready_node {
 public:
  step(std::vector<int>& order, int number) noexcept : ready_node(&run), order_(order), number_(number) {}
  ~step() = default;
  step* next = nullptr;
  executor* on = nullptr;

 private:
  static void run(ready_node& node) noexcept {
    auto& self = static_cast<step&>(node);
    self.order_.push_back(self.number_);
    if (self.next != nullptr) self.on->schedule(*self.next);
  }
  std::vector<int>& order_;
  int number_;
};

class stopper final : public posted_node {
 public:
  explicit stopper(reactor& r) noexcept : posted_node(&run), reactor_(r) {}
  ~stopper() = default;

 private:
  static void run(posted_node& node) noexcept { static_cast<stopper&>(node).reactor_.stop(); }
  reactor& reactor_;
};

// Returns the message of `create` in a child process where io_uring_setup fails with this error; empty if
// that cannot be arranged here.
std::string failure_with(int errno_value) {
  int pipe_ends[2];
  REQUIRE(pipe2(pipe_ends, O_CLOEXEC) == 0);
  const unique_fd from_child(pipe_ends[0]);
  unique_fd to_parent(pipe_ends[1]);
  const pid_t child = fork();
  if (child == 0) {
    std::string text;
    if (on_reactor::forbid_call(__NR_io_uring_setup, errno_value)) {
      const auto made = reactor::create({.backend = reactor_backend::io_uring});
      text = made ? "it was created" : describe(made.error());
    }
    const bool written =
        write(to_parent.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
    _exit(written ? 0 : 1);
  }
  to_parent.reset();
  std::string text(512, '\0');
  const ssize_t size = read(from_child.get(), text.data(), text.size());
  text.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  return text;
}

bool lacks_io_uring() {
  if (on_reactor::on_poll()) WARN("io_uring is not available here, or not asked for");
  return on_reactor::on_poll();
}

}  // namespace

TEST_CASE("reactor options out of range are refused by name", "[reactor]") {
  const auto refused = [](auto change) {
    reactor_options options;
    change(options);
    const auto made = reactor::create(options);
    REQUIRE_FALSE(made);
    CHECK(made.error() == errc::invalid_argument);
    CHECK(made.error() == options.validate().error());
    return std::string(made.error().text());
  };
  using Catch::Matchers::Contains;
  CHECK_THAT(refused([](auto& o) { o.submission_entries = 100; }), Contains("submission_entries is 100"));
  CHECK_THAT(refused([](auto& o) { o.submission_entries = 4; }), Contains("submission_entries"));
  CHECK_THAT(refused([](auto& o) { o.completion_entries = 256; }), Contains("completion_entries is 256"));
  CHECK_THAT(refused([](auto& o) { o.receive_buffers = 0; }), Contains("receive_buffers is 0"));
  CHECK_THAT(refused([](auto& o) { o.receive_buffer_bytes = 100; }), Contains("receive_buffer_bytes is 100"));
  CHECK_THAT(refused([](auto& o) { o.receive_buffer_limit = 63; }), Contains("receive_buffer_limit is 63"));
}

TEST_CASE("a reactor tells what the kernel offers", "[reactor][io_uring]") {
  if (lacks_io_uring()) return;
  const time_point before = clock_now();
  const auto r = on_reactor::make();
  CHECK(r->now() >= before);
  CHECK(r->now() <= clock_now());
  CHECK(r->features().backend == "io_uring");
  CHECK_FALSE(r->features().kernel.empty());
  CHECK(r->pollable_fd() >= 0);
  CHECK(r->next_wakeup() == never);
  if (r->features().notes.empty()) {
    CHECK(r->features().defer_taskrun);
    CHECK(r->features().single_issuer);
    CHECK(r->features().multishot_receive);
    CHECK(r->features().multishot_receive_message);
    CHECK(r->features().multishot_accept);
    CHECK(r->features().provided_buffer_ring);
    CHECK(r->features().registered_ring_fd);
  }
}

TEST_CASE("features can be held back, and the notes say so", "[reactor][io_uring]") {
  if (lacks_io_uring()) return;
  const auto features = [](std::uint32_t disable) {
    return on_reactor::make({.disable = disable})->features();
  };
  using Catch::Matchers::Contains;
  CHECK_FALSE(features(reactor_disable::defer_taskrun).defer_taskrun);
  CHECK_THAT(features(reactor_disable::defer_taskrun).notes, Contains("IORING_SETUP_DEFER_TASKRUN"));
  CHECK_FALSE(features(reactor_disable::single_issuer).single_issuer);
  CHECK_FALSE(features(reactor_disable::single_issuer).defer_taskrun);
  CHECK_THAT(features(reactor_disable::cooperative_taskrun).notes, Contains("IORING_SETUP_COOP_TASKRUN"));
  CHECK_FALSE(features(reactor_disable::registered_ring_fd).registered_ring_fd);
  CHECK_FALSE(features(reactor_disable::multishot_accept).multishot_accept);
  CHECK_FALSE(features(reactor_disable::multishot_receive).multishot_receive);
  CHECK_FALSE(features(reactor_disable::multishot_receive).multishot_receive_message);
  CHECK_FALSE(features(reactor_disable::multishot_receive_message).multishot_receive_message);
  CHECK(features(reactor_disable::multishot_receive_message).multishot_receive ==
        features(0).multishot_receive);
  CHECK_FALSE(features(reactor_disable::provided_buffer_ring).provided_buffer_ring);
  CHECK_FALSE(features(reactor_disable::provided_buffer_ring).multishot_receive);
}

TEST_CASE("a reactor that cannot be created says why and what helps", "[reactor][io_uring]") {
  using Catch::Matchers::Contains;
  const std::string forbidden = failure_with(EPERM);
  if (forbidden.empty()) {
    WARN("no seccomp filters here");
    return;
  }
  CHECK_THAT(forbidden, Contains("unsupported: io_uring is") && (Contains("seccomp") || Contains("sysctl")));
  CHECK_THAT(failure_with(ENOSYS), Contains("no io_uring") && Contains("6.1 or later"));
  CHECK_THAT(failure_with(EINVAL), Contains("lacks what is needed") && Contains("6.1 or later"));
  CHECK_THAT(failure_with(EMFILE), Contains("io_uring_setup") && Contains("Too many open files"));
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  const bool limited = limit.rlim_cur != RLIM_INFINITY;
  CHECK_THAT(failure_with(ENOMEM), Contains(limited ? "ulimit -l" : "no memory for the rings"));
}

TEST_CASE("a reactor gives all its descriptors back", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const int before = on_reactor::open_descriptors();
  {
    const auto r = on_reactor::make({.disable = disable});
    const unique_fd event = make_event(1);
    recorder ready;
    r->poll(event.get(), POLLIN, ready);
    on_reactor::turn_until(*r, [&] { return ready.ended; });
    CHECK(ready.results == std::vector<std::int32_t>{POLLIN});
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("timers never fire early, and waiting for them is not busy", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  r->run_once(nanoseconds::zero());
  for (const nanoseconds wait : {nanoseconds(1ns), nanoseconds(300ns), nanoseconds(999ns), nanoseconds(1us),
                                 nanoseconds(77us), nanoseconds(1ms), nanoseconds(20ms)}) {
    alarm_timer a;
    const time_point due = clock_now() + wait;
    r->arm(a, due);
    const auto turns = r->statistics().turns;
    while (a.fires == 0) r->run_once(nanoseconds::max());
    CHECK(a.fired_at >= due);
    CHECK(a.fires == 1);
    CHECK(r->statistics().turns - turns <= 5);
  }
}

TEST_CASE("a timer bounds the wait, and the longest wait bounds the turn", "[reactor]") {
  const auto r = on_reactor::make();
  alarm_timer a;
  const time_point begin = clock_now();
  r->arm(a, begin + 10s);
  CHECK_FALSE(r->run_once(2ms));
  CHECK(clock_now() - begin >= 2ms);
  CHECK(clock_now() - begin < 9s);
  CHECK(r->next_wakeup() == begin + 10s);
  r->disarm(a);
  CHECK_FALSE(r->run_once(1ns));
  CHECK(a.fires == 0);
}

TEST_CASE("timers fire in the order of their times, equal ones as they were armed", "[reactor]") {
  const auto r = on_reactor::make();
  std::vector<int> order;
  std::vector<std::unique_ptr<alarm_timer>> alarms;
  const time_point base = clock_now();
  for (const int number : {3, 1, 2, 2, 0}) {
    alarms.push_back(std::make_unique<alarm_timer>());
    alarms.back()->order = &order;
    alarms.back()->number = number;
    r->arm(*alarms.back(), base + number * 500us);
  }
  on_reactor::turn_until(*r, [&] { return order.size() == 5; });
  CHECK(order == std::vector<int>{0, 1, 2, 2, 3});
}

TEST_CASE("ready nodes run in order, late ones when nothing else is ready", "[reactor]") {
  const auto r = on_reactor::make();
  std::vector<int> order;
  step late(order, 9), third(order, 3), first(order, 1), second(order, 2);
  first.next = &third;
  first.on = r.get();
  r->schedule_late(late);
  r->schedule(first);
  r->schedule(second);
  CHECK(r->next_wakeup() == r->now());
  CHECK(r->run_once(nanoseconds::max()));
  CHECK(order == std::vector<int>{1, 2, 3, 9});
}

TEST_CASE("time stands still within a turn", "[reactor]") {
  class sampler final : public ready_node {
   public:
    explicit sampler(reactor& r) noexcept : ready_node(&run), reactor_(r) {}
    ~sampler() = default;
    std::vector<time_point> seen;

   private:
    static void run(ready_node& node) noexcept {
      auto& self = static_cast<sampler&>(node);
      self.seen.push_back(self.reactor_.now());
      if (self.seen.size() % 100 != 0) self.reactor_.schedule(self);
    }
    reactor& reactor_;
  };
  const auto r = on_reactor::make();
  sampler s(*r);
  r->schedule(s);
  r->run_once(nanoseconds::zero());
  REQUIRE(s.seen.size() == 100);
  CHECK(s.seen.front() == s.seen.back());
  r->schedule(s);
  r->run_once(nanoseconds::zero());
  CHECK(s.seen.back() > s.seen.front());
}

TEST_CASE("nothing to submit and nothing to wait for means no system call", "[reactor]") {
  const auto r = on_reactor::make();
  std::vector<int> order;
  step a(order, 1);
  r->run_once(nanoseconds::zero());
  const auto before = r->statistics().enters;
  for (int i = 0; i < 100; ++i) {
    r->schedule(a);
    r->run_once(nanoseconds::max());
  }
  CHECK(order.size() == 100);
  CHECK(r->statistics().enters == before);
}

TEST_CASE("run ends with stop, also one that came first or was posted", "[reactor]") {
  const auto r = on_reactor::make();
  r->stop();
  r->run();
  stopper s(*r);
  r->post(s);
  r->run();
  std::thread other([&] {
    std::this_thread::yield();
    r->post(s);
  });
  r->run();
  other.join();
  CHECK_FALSE(r->run_once(nanoseconds::zero()));
}

TEST_CASE("a reactor may end because of what is posted, before the post has returned", "[reactor]") {
  /// Stops its reactor, and records the thread on which that happened.
  class last_word final : public posted_node {
   public:
    explicit last_word(reactor& r) noexcept : posted_node(&run), reactor_(r) {}
    ~last_word() = default;
    int runs = 0;
    std::thread::id on;

   private:
    static void run(posted_node& node) noexcept {
      auto& self = static_cast<last_word&>(node);
      ++self.runs;
      self.on = std::this_thread::get_id();
      self.reactor_.stop();
    }
    reactor& reactor_;
  };
  const int before = on_reactor::open_descriptors();
  for (int i = 0; i < 200; ++i) {
    std::promise<std::pair<executor*, posted_node*>> lives;
    auto known = lives.get_future();
    int runs = 0;
    bool at_home = false;
    std::thread owner([&] {
      const auto r = on_reactor::make();
      last_word last(*r);
      lives.set_value({r.get(), &last});
      r->run();
      runs = last.runs;
      at_home = last.on == std::this_thread::get_id();
    });
    const auto [home, last] = known.get();
    home->post(*last);  // the sanitizers detect an access that comes too late
    owner.join();
    REQUIRE(runs == 1);
    REQUIRE(at_home);
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("posts of four threads all arrive, each thread's in order", "[reactor]") {
  struct counters {
    std::vector<std::uint64_t> last = std::vector<std::uint64_t>(4, 0);
    std::uint64_t arrived = 0;
    bool ordered = true;
    reactor* r = nullptr;
    std::uint64_t expected = 0;
  };
  class message final : public posted_node {
   public:
    message() noexcept : posted_node(&arrive) {}
    ~message() = default;
    counters* to = nullptr;
    std::size_t thread = 0;
    std::uint64_t number = 0;

   private:
    static void arrive(posted_node& node) noexcept {
      auto& self = static_cast<message&>(node);
      counters& c = *self.to;
      c.ordered = c.ordered && self.number == c.last[self.thread] + 1;
      c.last[self.thread] = self.number;
      if (++c.arrived == c.expected) c.r->stop();
    }
  };
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  constexpr std::uint64_t per_thread = 100'000;
  counters c;
  c.r = r.get();
  c.expected = 4 * per_thread;
  std::vector<std::unique_ptr<message[]>> messages;
  for (std::size_t t = 0; t < 4; ++t) messages.push_back(std::make_unique<message[]>(per_thread));
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < per_thread; ++i) {
        message& m = messages[t][i];
        m.to = &c;
        m.thread = t;
        m.number = i + 1;
        r->post(m);
        if (i % 1000 == 0) std::this_thread::yield();
      }
    });
  }
  r->run();
  for (auto& t : threads) t.join();
  CHECK(c.arrived == c.expected);
  CHECK(c.ordered);
}

TEST_CASE("each post wakes a sleeping reactor", "[reactor]") {
  class bell final : public posted_node {
   public:
    bell() noexcept : posted_node(&ring) {}
    ~bell() = default;
    std::atomic<int> rings{0};

   private:
    static void ring(posted_node& node) noexcept { ++static_cast<bell&>(node).rings; }
  };
  const auto r = on_reactor::make();
  bell b;
  stopper s(*r);
  std::thread other([&] {
    for (int i = 0; i < 2000; ++i) {
      r->post(b);
      while (b.rings.load() != i + 1) std::this_thread::yield();
    }
    r->post(s);
  });
  r->run();
  other.join();
  CHECK(b.rings == 2000);
}

TEST_CASE("a burst of operations much larger than the rings is neither lost nor repeated", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.submission_entries = 8, .completion_entries = 16, .disable = disable});
  const unique_fd event = make_event(1);
  std::vector<recorder> burst(10'000);
  for (auto& b : burst) r->poll(event.get(), POLLIN, b);
  std::size_t ended = 0;
  on_reactor::turn_until(*r, [&] {
    while (ended < burst.size() && burst[ended].ended) ++ended;
    return ended == burst.size();
  });
  on_reactor::settle(*r);
  for (const auto& b : burst) {
    if (b.results != std::vector<std::int32_t>{POLLIN}) FAIL_CHECK("a completion is wrong");
  }
  CHECK(r->statistics().completions == burst.size());
}

TEST_CASE("cancelling much more than the submission ring holds", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.submission_entries = 8, .completion_entries = 16, .disable = disable});
  const unique_fd event = make_event(0);
  std::vector<recorder> burst(2'000);
  for (auto& b : burst) r->poll(event.get(), POLLIN, b);
  SECTION("before the kernel has seen them") {}
  SECTION("while the kernel waits") {
    on_reactor::settle(*r);
  }
  for (auto& b : burst) {
    r->cancel(b);
    r->cancel(b);
    CHECK(b.results.empty());
  }
  on_reactor::turn_until(*r, [&] {
    for (const auto& b : burst) {
      if (!b.ended) return false;
    }
    return true;
  });
  for (const auto& b : burst) {
    if (b.results != std::vector<std::int32_t>{-ECANCELED}) FAIL_CHECK("a completion is wrong");
  }
}

TEST_CASE("a cancel before, during and after a poll", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  const unique_fd event = make_event(0);
  recorder p;
  r->cancel(p);  // nothing is pending
  on_reactor::settle(*r);
  CHECK(p.results.empty());

  r->poll(event.get(), POLLIN, p);
  on_reactor::settle(*r);
  r->cancel(p);
  CHECK(p.pending());
  on_reactor::turn_until(*r, [&] { return p.ended; });
  CHECK(p.results == std::vector<std::int32_t>{-ECANCELED});

  r->cancel(p);  // too late
  p.ended = false;
  r->poll(event.get(), POLLIN, p);  // the cancel must not hit this one
  on_reactor::settle(*r);
  CHECK(p.pending());
  REQUIRE(eventfd_write(event.get(), 1) == 0);
  r->cancel(p);  // a race with the event: one completion either way
  on_reactor::turn_until(*r, [&] { return p.ended; });
  CHECK(p.results.size() == 2);
  on_reactor::settle(*r);
  CHECK(p.results.size() == 2);
}

TEST_CASE("a host's poll loop can drive a reactor", "[reactor]") {
  const std::uint32_t disable = on_reactor::any_setup();
  const auto r = on_reactor::make({.disable = disable});
  const unique_fd event = make_event(0);
  pollfd host{r->pollable_fd(), POLLIN, 0};
  // When its time is over, poll looks once more: what it sees then has not woken it.
  const auto wait = [&](std::chrono::milliseconds longest) {
    const time_point begun = clock_now();
    const int ready = ::poll(&host, 1, static_cast<int>(longest.count()));
    CHECK((ready == 0 || longest == 0ms || clock_now() - begun < longest));
    return ready;
  };
  on_reactor::settle(*r);
  CHECK(wait(0ms) == 0);

  SECTION("an operation's completion makes the descriptor readable") {
    recorder p;
    r->poll(event.get(), POLLIN, p);
    r->run_once(nanoseconds::zero());
    CHECK(wait(0ms) == 0);
    std::thread other([&] { eventfd_write(event.get(), 1); });
    CHECK(wait(10s) == 1);
    other.join();
    CHECK(r->run_once(nanoseconds::zero()));
    CHECK(p.ended);
  }
  SECTION("an operation begun by what a turn ran needs no further turn to reach the kernel") {
    class starter final : public ready_node {
     public:
      starter(reactor& r, int fd, recorder& p) noexcept : ready_node(&run), reactor_(r), fd_(fd), poll_(p) {}
      ~starter() = default;

     private:
      static void run(ready_node& node) noexcept {
        auto& self = static_cast<starter&>(node);
        self.reactor_.poll(self.fd_, POLLIN, self.poll_);
      }
      reactor& reactor_;
      int fd_;
      recorder& poll_;
    };
    recorder p;
    starter s(*r, event.get(), p);
    r->schedule(s);
    r->run_once(nanoseconds::zero());
    REQUIRE(eventfd_write(event.get(), 1) == 0);
    CHECK(wait(10s) == 1);
    r->run_once(nanoseconds::zero());
    CHECK(p.ended);
  }
  SECTION("a post makes the descriptor readable, each time") {
    for (int i = 0; i < 3; ++i) {
      stopper s(*r);
      std::thread other([&] { r->post(s); });
      CHECK(wait(10s) == 1);
      other.join();
      CHECK(r->run_once(nanoseconds::zero()));
      on_reactor::settle(*r);
      CHECK(wait(0ms) == 0);
    }
    r->run();  // the posted stops are honoured, once
  }
  SECTION("timers are in next_wakeup") {
    alarm_timer a;
    r->run_once(nanoseconds::zero());
    r->arm(a, r->now() + 3ms);
    while (a.fires == 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(r->next_wakeup() - clock_now());
      wait(std::max(left, std::chrono::milliseconds(0)));
      r->run_once(nanoseconds::zero());
    }
    CHECK(a.fired_at >= a.at());
    CHECK(r->next_wakeup() == never);
  }
  SECTION("after run has ended the host may go on") {
    stopper s(*r);
    r->post(s);
    r->run();
    on_reactor::settle(*r);
    std::thread other([&] { r->post(s); });
    CHECK(wait(10s) == 1);
    other.join();
    r->run_once(nanoseconds::zero());
    r->run();
  }
}
