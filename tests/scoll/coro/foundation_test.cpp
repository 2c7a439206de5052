#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "death.hpp"
#include "scoll/coro/assert.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/ready_node.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/timer.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

namespace {

class callback {
 public:
  callback(stop_token token, std::vector<int>& log, int number)
      : log_(&log), number_(number), stop_(&run, this) {
    stop_.connect(token);
  }
  void also(void (*f)(callback&)) { also_ = f; }
  void forget() { stop_.disconnect(); }

  std::unique_ptr<callback>* victim = nullptr;

 private:
  static void run(void* self) noexcept {
    auto& c = *static_cast<callback*>(self);
    c.log_->push_back(c.number_);
    if (c.also_ != nullptr) c.also_(c);
  }

  std::vector<int>* log_;
  int number_;
  void (*also_)(callback&) = nullptr;
  stop_callback stop_;
};

class logging_node final : public ready_node {
 public:
  logging_node(std::vector<int>& log, int number) : ready_node(&run), log_(&log), number_(number) {}

 private:
  static void run(ready_node& self) noexcept {
    auto& node = static_cast<logging_node&>(self);
    node.log_->push_back(node.number_);
  }
  std::vector<int>* log_;
  int number_;
};

class logging_timer final : public timer_node {
 public:
  logging_timer(std::vector<int>& log, int number) : timer_node(&run), log_(&log), number_(number) {}

 private:
  static void run(timer_node& self) noexcept {
    auto& node = static_cast<logging_timer&>(self);
    node.log_->push_back(node.number_);
  }
  std::vector<int>* log_;
  int number_;
};

time_point at(std::int64_t ns) {
  return time_point{nanoseconds{ns}};
}

}  // namespace

TEST_CASE("an error keeps its code, domain, number and a text that is cut") {
  const error none;
  CHECK_FALSE(none);
  CHECK(none == errc::ok);

  const std::string longer(200, 'x');
  const error e(errc::busy, longer, 7);
  CHECK(e);
  CHECK(e == errc::busy);
  CHECK(e.text() == longer.substr(0, error::text_capacity - 3) + "...");
  CHECK(e.detail() == 7);
  CHECK(e == error(errc::busy, longer, 7));
  CHECK_FALSE(e == error(errc::busy, longer, 8));
  CHECK_FALSE(e == error(errc::busy, "x", 7));
  CHECK(e.std_code() == make_error_code(errc::busy));
  CHECK(e.std_code().message() == "busy");
  CHECK(std::string(e.std_code().category().name()) == "scoll");

  const error io = error::system(ECONNREFUSED, "connect");
  CHECK(io == errc::io_error);
  CHECK(io.std_code() == std::errc::connection_refused);
  CHECK(describe(io) == "io_error: connect: Connection refused (errno 111)");
  CHECK(describe(error::user(-3, "no pool")) == "hook_failed: no pool (user error -3)");
  CHECK(describe(error(errc::deadline_exceeded, "3 members", 4)) ==
        "deadline_exceeded: 3 members (detail 4)");
  CHECK(describe(errc::closed) == "closed");
}

TEST_CASE("a text that is cut says so, and is not cut within a number or a character") {
  const auto cut = [](std::size_t letters, std::string_view rest) {
    const std::string text = std::string(letters, 'y') + std::string(rest);
    const error e(errc::stale, text);
    CHECK(e.text().size() <= error::text_capacity);
    return std::string(e.text().substr(std::min(letters, e.text().size())));
  };
  CHECK(cut(85, " is older than 1795394645547171734") == " is olde...");
  CHECK(cut(77, " is older than 17953946455") == " is older than ...");
  CHECK(cut(84, " node 12345 and 6") == " node ...");
  CHECK(cut(79, " node 12345678") == " node 12345678");
  CHECK(cut(79, " at 10.0.0.1:7400, which is cut") == " at ...");
  CHECK(cut(79, " at 0xdeadbeefdeadbeef is cut") == " at ...");
  CHECK(cut(82, " decade after decade") == " decade aft...");
  CHECK(cut(91, "€€€") == "...");
  CHECK(cut(0, std::string(200, '7')) == std::string(93, '7') + "...");  // no number has so many digits
  CHECK(cut(0, std::string(96, '7')) == std::string(96, '7'));
  constexpr error at_compile_time(
      errc::busy,
      "a text that is a little too long for an error, and in which the cut would fall within 1234567890123");
  static_assert(at_compile_time.text().ends_with("fall within ..."));
}

TEST_CASE("every error code has a name of its own") {
  std::vector<std::string> names;
  for (std::uint16_t code = 0; code <= static_cast<std::uint16_t>(errc::type_mismatch); ++code) {
    names.emplace_back(to_string(static_cast<errc>(code)));
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(std::find(names.begin(), names.end(), "unknown_error") == names.end());
  CHECK(to_string(static_cast<errc>(9999)) == "unknown_error");
}

TEST_CASE("an error text is formatted in place") {
  CHECK(make_error(errc::too_large, "{} of {} bytes", 5, 4).text() == "5 of 4 bytes");
  CHECK(make_error(errc::too_large, "{:>300}", 1).text().size() == error::text_capacity);
  CHECK(make_error(errc::too_large, "{:>96}", 1).text().ends_with(" 1"));
  CHECK(make_error(errc::too_large, "{:>{}}", 1, -1) == error(errc::too_large, "{:>{}}"));  // no such width
}

TEST_CASE("what is taken from the front of a list is in none, and the rest stays") {
  struct element : list_hook<> {};
  element a, b, c;
  intrusive_list<element> list;
  list.push_back(a);
  list.push_back(b);
  list.push_back(c);
  CHECK(&list.pop_front() == &a);
  CHECK_FALSE(a.linked());
  CHECK(list.first() == &b);
  list.push_front(a);
  CHECK(list.next(a) == &b);
  b.unlink();
  CHECK(&list.pop_front() == &a);
  CHECK(&list.pop_front() == &c);
  CHECK(list.empty());
  list.push_back(c);
  CHECK(&list.back() == &c);
  CHECK(&list.front() == &c);
}

TEST_CASE("a result is a value or an error") {
  result<std::string> good("abc");
  REQUIRE(good);
  CHECK(*good == "abc");
  CHECK(good->size() == 3);
  CHECK(good.value() == "abc");
  const std::string moved = std::move(*good);
  CHECK(moved == "abc");

  const result<std::string> bad(errc::not_found);
  CHECK_FALSE(bad);
  CHECK(bad.error() == errc::not_found);
  CHECK(bad.value_or("other") == "other");

  result<int> wrong(error(errc::stale, "old", 2));
  CHECK_THROWS_AS(wrong.value(), failure);
  try {
    (void)wrong.value();
  } catch (const failure& f) {
    CHECK(f.error() == error(errc::stale, "old", 2));
    CHECK(f.code() == errc::stale);
    CHECK(std::string(f.what()) == "old: stale");
  }

  result<std::unique_ptr<int>> owner(std::make_unique<int>(4));
  const std::unique_ptr<int> taken = std::move(owner).value();
  CHECK(*taken == 4);

  CHECK(status());
  const status ok = errc::ok;
  CHECK(ok);
  CHECK_NOTHROW(ok.value());
  const status failed = errc::busy;
  CHECK_FALSE(failed);
  CHECK_THROWS_AS(failed.value(), failure);
}

static_assert(!std::is_convertible_v<result<int>, result<bool>>,
              "a result does not become the value of another");
static_assert(!std::is_constructible_v<result<bool>, status>);
static_assert(!std::is_convertible_v<std::size_t, result<std::vector<int>>>,
              "explicit constructors stay explicit");
static_assert(std::is_same_v<as_result_t<int>, result<int>>);
static_assert(std::is_same_v<as_result_t<result<int>>, result<int>>);
static_assert(std::is_same_v<as_result_t<void>, status>);

TEST_CASE("the error of a value, and the value of an error, are broken invariants") {
  const death of_error = die([] { (void)result<int>(1).error(); });
  CHECK(of_error.aborted);
  CHECK(of_error.message.find("error() of a result that holds a value") != std::string::npos);
  const death of_value = die([] { (void)*result<int>(errc::busy); });
  CHECK(of_value.aborted);
  CHECK(of_value.message.find("value of a result that holds an error: busy (test the result first") !=
        std::string::npos);
  const death of_member = die([] {
    const result<std::string> bad(error(errc::stale, "older than 7"));
    std::fprintf(stderr, "%zu", bad->size());
  });
  CHECK(of_member.aborted);
  CHECK(of_member.message.find("stale: older than 7") != std::string::npos);
  const death assertion = die([] { SCOLL_ASSERT(1 + 1 == 3, "arithmetic"); });
  CHECK(assertion.aborted);
  CHECK(assertion.message.find("arithmetic [1 + 1 == 3] at ") != std::string::npos);
  CHECK_FALSE(die([] { SCOLL_ASSERT(true, "fine"); }).aborted);
}

TEST_CASE("the random generator is xoshiro256** seeded by splitmix64") {
  random_generator zero(0);
  for (const std::uint64_t expected : {0x99ec5f36cb75f2b4u, 0xbf6e1f784956452au, 0x1a5f849d4933e6e0u,
                                       0x6aa594f1262d2d2cu, 0xbba5ad4a1f842e59u, 0xffef8375d9ebcacau}) {
    CHECK(zero.next() == expected);
  }
  random_generator other(1234567);
  std::uint64_t value = 0;
  for (int i = 0; i < 1000; ++i) value = other.next();
  CHECK(value == 0x3be7f2876df677c2u);
}

TEST_CASE("random numbers below a bound are spread evenly and repeat with their seed") {
  random_generator a(42);
  random_generator b(42);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70'000; ++i) {
    const std::uint64_t x = a.below(7);
    REQUIRE(x == b.below(7));
    REQUIRE(x < 7);
    ++seen[x];
  }
  for (const int n : seen) CHECK((n > 9'600 && n < 10'400));
  CHECK(a.below(1) == 0);
  for (int i = 0; i < 1000; ++i) CHECK(a.below(UINT64_MAX) < UINT64_MAX);
  int hits = 0;
  for (int i = 0; i < 40'000; ++i) hits += a.chance(1, 4) ? 1 : 0;
  CHECK((hits > 9'600 && hits < 10'400));
  CHECK_FALSE(a.chance(0, 4));
  CHECK(a.chance(4, 4));
}

TEST_CASE("time saturates at never, and deadlines know what remains") {
  CHECK(saturating_add(at(5), 7ns) == at(12));
  CHECK(saturating_add(at(5), nanoseconds::max()) == never);
  CHECK(saturating_add(never, 1ns) == never);
  const deadline none;
  CHECK(none.unlimited());
  CHECK(none.remaining(at(4)) == nanoseconds::max());
  CHECK(none.less(1s) == none);
  CHECK_FALSE(none.passed(at(4)));
  const deadline d(at(100));
  CHECK(d.remaining(at(40)) == 60ns);
  CHECK(d.remaining(at(140)) == 0ns);
  CHECK(d.passed(at(100)));
  CHECK_FALSE(d.passed(at(99)));
  CHECK(d.less(30ns).at == at(70));
  CHECK(d < none);
}

TEST_CASE("stop callbacks run once, in order of registration") {
  std::vector<int> log;
  {
    stop_source source;
    CHECK(source.token().stop_possible());
    CHECK_FALSE(stop_token().stop_possible());
    CHECK_FALSE(stop_token().stop_requested());
    callback first(source.token(), log, 1);
    callback second(source.token(), log, 2);
    callback third(source.token(), log, 3);
    second.forget();
    CHECK(source.request_stop());
    CHECK_FALSE(source.request_stop());
    CHECK(source.token().stop_requested());
    callback late(source.token(), log, 4);
    callback without({}, log, 5);
  }
  CHECK(log == std::vector{1, 3, 4});
}

TEST_CASE("stop callbacks may unregister others and destroy themselves") {
  std::vector<int> log;
  stop_source source;
  auto self = std::make_unique<callback>(source.token(), log, 1);
  auto other = std::make_unique<callback>(source.token(), log, 2);
  auto adder = std::make_unique<callback>(source.token(), log, 3);
  auto next = std::make_unique<callback>(source.token(), log, 4);
  self->victim = &other;
  self->also([](callback& c) {
    c.victim->reset();  // one that has not run yet
  });
  adder->victim = &adder;
  adder->also([](callback& c) {
    c.victim->reset();  // itself
  });
  next->victim = &self;
  next->also([](callback& c) {
    c.victim->reset();  // one that has run
  });
  source.request_stop();
  CHECK(log == std::vector{1, 3, 4});
  CHECK_FALSE(self);
  CHECK_FALSE(other);
  CHECK_FALSE(adder);
}

TEST_CASE("a stop source must outlive its callbacks") {
  const death d = die([] {
    std::vector<int> log;
    auto source = std::make_unique<stop_source>();
    const callback c(source->token(), log, 1);
    source.reset();
  });
  CHECK(d.aborted);
  CHECK(d.message.find("a stop source died before its callbacks") != std::string::npos);
}

TEST_CASE("a ready list is first in first out, and nodes can leave it") {
  std::vector<int> log;
  virtual_executor on;
  logging_node a(log, 1), b(log, 2), c(log, 3), late(log, 4);
  on.schedule_late(late);
  on.schedule(a);
  on.schedule(b);
  on.schedule(c);
  on.unschedule(b);
  on.unschedule(b);
  CHECK_FALSE(b.scheduled());
  on.schedule(b);
  CHECK(on.run_now() == 4);
  CHECK(log == std::vector{1, 3, 2, 4});
  on.schedule_late(late);
  on.unschedule_late(late);
  CHECK(on.run_now() == 0);
  const death twice = die([&] {
    on.schedule(a);
    on.schedule(a);
  });
  CHECK(twice.message.find("scheduled twice") != std::string::npos);
}

TEST_CASE("timers of equal times fire in the order in which they were armed") {
  std::vector<int> log;
  virtual_executor on(at(0));
  std::vector<std::unique_ptr<logging_timer>> timers;
  std::vector<int> expected;
  for (int i = 0; i < 1000; ++i) timers.push_back(std::make_unique<logging_timer>(log, i));
  for (int i = 0; i < 1000; ++i) on.arm(*timers[static_cast<std::size_t>(i)], at(i % 3 == 0 ? 50 : 60));
  for (int i = 0; i < 1000; i += 10) on.disarm(*timers[static_cast<std::size_t>(i)]);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 1000; ++i) {
      if (i % 10 != 0 && (i % 3 == 0) == (pass == 0)) expected.push_back(i);
    }
  }
  on.run_until_idle();
  CHECK(log == expected);
  CHECK(on.now() == at(60));
}

TEST_CASE("the timer heap agrees with an ordered multimap under random operations") {
  random_generator random(7);
  std::vector<int> fired;
  timer_heap heap;
  std::vector<std::unique_ptr<logging_timer>> timers;
  for (int i = 0; i < 400; ++i) timers.push_back(std::make_unique<logging_timer>(fired, i));
  std::multimap<time_point, int> reference;
  std::vector<std::multimap<time_point, int>::iterator> place(timers.size(), reference.end());
  for (int step = 0; step < 100'000; ++step) {
    const auto i = static_cast<std::size_t>(random.below(timers.size()));
    switch (random.below(4)) {
      case 0:
      case 1:
        if (!timers[i]->armed()) {
          const time_point when = at(static_cast<std::int64_t>(random.below(64)));
          heap.insert(*timers[i], when);
          place[i] = reference.emplace(when, static_cast<int>(i));
          REQUIRE(timers[i]->at() == when);
        }
        break;
      case 2:
        if (timers[i]->armed()) reference.erase(place[i]);
        heap.remove(*timers[i]);
        break;
      default: {
        const time_point now = at(static_cast<std::int64_t>(random.below(64)));
        fired.clear();
        const bool due = !reference.empty() && reference.begin()->first <= now;
        REQUIRE(heap.fire_one(now) == due);
        if (due) {
          REQUIRE(fired == std::vector{reference.begin()->second});
          reference.erase(reference.begin());
        }
      }
    }
    REQUIRE(heap.earliest() == (reference.empty() ? never : reference.begin()->first));
  }
  while (heap.fire_one(never)) {
  }
  CHECK(heap.empty());
}

TEST_CASE("a million timers in falling order need no deep recursion") {
  class silent final : public timer_node {
   public:
    silent() : timer_node([](timer_node&) noexcept {}) {}
  };
  constexpr std::size_t count = 1'000'000;
  const auto timers = std::make_unique<silent[]>(count);
  timer_heap heap;
  for (std::size_t i = 0; i < count; ++i) heap.insert(timers[i], at(static_cast<std::int64_t>(count - i)));
  std::size_t fired = 0;
  for (time_point last = at(0); !heap.empty(); ++fired) {
    REQUIRE(heap.earliest() >= last);
    last = heap.earliest();
    heap.fire_one(never);
  }
  CHECK(fired == count);
}

TEST_CASE("virtual time stands still while anything is ready and then jumps") {
  std::vector<int> log;
  virtual_executor on(at(100));
  logging_timer a(log, 1), b(log, 2), c(log, 3);
  CHECK(on.idle());
  on.arm(a, at(250));
  on.arm(b, at(200));
  on.arm(c, at(50));
  CHECK_FALSE(on.idle());
  CHECK(on.run_now() == 1);
  CHECK(on.now() == at(100));
  CHECK(on.run_until(at(199)) == 0);
  CHECK(on.now() == at(199));
  CHECK(on.run_for(1ns) == 1);
  CHECK(on.now() == at(200));
  CHECK(on.run_until_idle() == 1);
  CHECK(on.now() == at(250));
  CHECK(on.run_until(at(10)) == 0);
  CHECK(on.now() == at(250));
  CHECK(log == std::vector{3, 2, 1});
  on.arm(a, never);
  CHECK(on.run_until_idle() == 0);
  on.disarm(a);
}

TEST_CASE("a run is bounded by its limit, and timers that are due are not held back by what is ready") {
  class eager final : public ready_node {
   public:
    explicit eager(executor& on) : ready_node(&again), on_(&on) {}

   private:
    static void again(ready_node& self) noexcept {
      auto& node = static_cast<eager&>(self);
      node.on_->schedule(node);
    }
    executor* on_;
  };
  std::vector<int> log;
  virtual_executor on(at(0));
  eager node(on);
  logging_timer due(log, 1);
  on.schedule(node);
  CHECK(on.run_until_idle(1000) == 1000);
  on.arm(due, on.now());
  CHECK(on.run_until_idle(1) == 1);
  CHECK(log == std::vector{1});
  on.unschedule(node);
}

TEST_CASE("a timer that dies armed is a broken invariant") {
  const death d = die([] {
    std::vector<int> log;
    virtual_executor on;
    logging_timer t(log, 1);
    on.arm(t, never);
  });
  CHECK(d.message.find("a timer was destroyed while armed") != std::string::npos);
}

TEST_CASE("an executor that is used from another thread than its own says so") {
  const death d = die([] {
    std::vector<int> log;
    virtual_executor on;
    logging_timer t(log, 1);
    on.arm(t, on.now());
    on.run_until_idle(1);
    on.arm(t, on.now());  // on the thread of its turns, outside of them
    on.disarm(t);
    std::thread([&] { on.arm(t, on.now()); }).join();
  });
  CHECK(d.aborted);
  CHECK(d.message.find("was used from another thread than its own") != std::string::npos);
  CHECK(d.message.find("executor::post") != std::string::npos);
}

TEST_CASE("without a turn there is no current executor") {
  CHECK(executor::current_or_null() == nullptr);
  CHECK(die([] { (void)executor::current(); }).message.find("no executor runs") != std::string::npos);
}

TEST_CASE("the frame pool gives blocks again, by size class and thread") {
  frame_pool::trim();
  const auto before = frame_pool::thread_statistics();
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (std::size_t size = 1; size < 12'000; size += 61) {
    void* const block = frame_pool::allocate(size);
    REQUIRE(reinterpret_cast<std::uintptr_t>(block) % alignof(std::max_align_t) == 0);
    std::memset(block, 0xab, size);
    blocks.emplace_back(block, size);
  }
  auto after = frame_pool::thread_statistics();
  CHECK(after.misses - before.misses == blocks.size());
  CHECK(after.live - before.live == blocks.size());
  for (const auto& [block, size] : blocks) frame_pool::deallocate(block, size);
  CHECK(frame_pool::thread_statistics().live == before.live);
  if constexpr (frame_pool::pooling) {
    void* const one = frame_pool::allocate(100);
    CHECK(frame_pool::thread_statistics().hits == after.hits + 1);
    std::thread([&] {
      CHECK(frame_pool::thread_statistics().hits == 0);
      frame_pool::deallocate(one, 100);
      void* const again = frame_pool::allocate(128);
      CHECK(again == one);
      frame_pool::deallocate(again, 128);
    }).join();
  }
  frame_pool::trim();
  after = frame_pool::thread_statistics();
  void* const fresh = frame_pool::allocate(100);
  CHECK(frame_pool::thread_statistics().misses == after.misses + 1);
  frame_pool::deallocate(fresh, 100);
}

TEST_CASE("the frame pool keeps no more idle memory than its limit") {
  if constexpr (!frame_pool::pooling) return;
  frame_pool::trim();
  constexpr std::size_t fits = frame_pool::idle_limit_bytes / 1024;
  std::vector<void*> blocks(fits + 100);
  for (void*& block : blocks) block = frame_pool::allocate(1024);
  for (void* const block : blocks) frame_pool::deallocate(block, 1024);
  const auto before = frame_pool::thread_statistics();
  for (void*& block : blocks) block = frame_pool::allocate(1024);
  const auto after = frame_pool::thread_statistics();
  CHECK(after.hits - before.hits == fits);
  CHECK(after.misses - before.misses == 100);
  for (void* const block : blocks) frame_pool::deallocate(block, 1024);
  frame_pool::trim();
}
