#include "scoll/coro/task.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "death.hpp"
#include "endurance.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/scope.hpp"
#include "tasks.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

namespace {

// PR 106188, hidden from the linter that looks for it.
#define IN_CONDITION(...) (__VA_ARGS__)
task<bool> truth() {
  co_return true;
}
task<void> awaits_in_a_condition(int& executed) {
  if IN_CONDITION (co_await truth()) ++executed;
}

/// Says when it was destroyed, and that it was destroyed once.
class tracer {
 public:
  explicit tracer(int& live) : live_(&live) { ++*live_; }
  tracer(tracer&& other) noexcept : live_(other.live_) { ++*live_; }
  tracer& operator=(tracer&&) = delete;
  ~tracer() { --*live_; }

 private:
  int* live_;
};

}  // namespace

TEST_CASE("a task runs when it is awaited, not before, and need not be awaited") {
  virtual_executor on;
  std::vector<int> log;
  auto body = [&]() -> task<void> {
    task<void> unused = note(log, 9, 0ns);
    task<void> t = note(log, 1, 0ns);
    CHECK(log.empty());
    co_await std::move(t);
    CHECK(log == std::vector{1});
    CHECK(unused.valid());
  };
  run(on, body());
  CHECK(log == std::vector{1});
}

TEST_CASE("a task gives its value, now or later") {
  virtual_executor on;
  auto body = [&]() -> task<std::string> {
    const int a = co_await value_of(2);
    const int b = co_await later(3, 5ms);
    std::unique_ptr<int> p = co_await [](int x) -> task<std::unique_ptr<int>> {
      co_await yield();
      co_return std::make_unique<int>(x);
    }(a * b);
    co_return std::to_string(*p);
  };
  const time_point start = on.now();
  CHECK(run(on, body()) == "6");
  CHECK(on.now() - start == 5ms);
}

TEST_CASE("an exception goes to the awaiter, whether thrown before or after a suspension") {
  virtual_executor on;
  auto body = [&]() -> task<std::string> {
    std::string all;
    for (const nanoseconds d : {0ns, nanoseconds(5ms)}) {
      try {
        (void)co_await thrower(d, "broken");
      } catch (const std::runtime_error& e) {
        all += e.what();
      }
    }
    co_return all;
  };
  CHECK(run(on, body()) == "brokenbroken");
  CHECK_THROWS_AS(run(on, thrower(1ms, "x")), std::runtime_error);
}

TEST_CASE("what a task owns dies once, with its frame") {
  virtual_executor on;
  int live = 0;
  auto consumer = [](tracer t, bool wait) -> task<tracer> {
    if (wait) co_await yield();
    co_return std::move(t);
  };
  auto body = [&]() -> task<void> {
    for (const bool wait : {false, true}) {
      tracer mine(live);
      task<tracer> t = consumer(std::move(mine), wait);
      tracer back = co_await std::move(t);
      CHECK(live >= 2);
      const task<tracer> never_started = consumer(std::move(back), wait);
    }
  };
  run(on, body());
  CHECK(live == 0);
}

TEST_CASE("moving a task moves its coroutine") {
  virtual_executor on;
  task<int> a = value_of(1);
  task<int> b = std::move(a);
  CHECK_FALSE(a.valid());  // NOLINT(bugprone-use-after-move): what is tested
  task<int> c = value_of(2);
  c = std::move(b);
  const int value = run(on, std::move(c));
  CHECK(value == 1);
}

TEST_CASE("awaiting a task twice, or destroying one that runs, is a broken invariant") {
  const death twice = die([] {
    virtual_executor on;
    auto body = []() -> task<void> {
      task<int> t = value_of(1);
      (void)co_await std::move(t);
      (void)co_await std::move(t);  // NOLINT(bugprone-use-after-move): what is tested
    };
    run(on, body());
  });
  CHECK(twice.message.find("a task was awaited twice") != std::string::npos);
  const death abandoned = die([] {
    virtual_executor on;
    const detail::root_task<int> root(on, later(1, 1s));
    on.run_now();
  });
  CHECK(abandoned.message.find("a task was destroyed before it had ended") != std::string::npos);
}

TEST_CASE("a frame that GCC 12 lays out wrongly is caught when it is made") {
  const death d = die([] {
    virtual_executor on;
    int executed = 0;
    run(on, awaits_in_a_condition(executed));
    SCOLL_ASSERT(executed == 1, "the body silently never ran");
  });
  if (d.aborted) CHECK(d.message.find("miscompiled coroutine frame") != std::string::npos);
}

TEST_CASE("a million tasks that complete at once use no stack") {
  virtual_executor on;
  stack_probe probe;
  auto plain = [&]() -> task<void> {
    int sum = 0;
    for (int i = 0; i < endurance_rounds; ++i) sum += co_await one(probe);
    CHECK(sum == endurance_rounds);
  };
  hold(on, plain(), probe);
  stack_probe deeper;
  auto two_deep = [&]() -> task<void> {
    int sum = 0;
    for (int i = 0; i < endurance_rounds; ++i) sum += co_await nested(deeper);
    CHECK(sum == 2 * endurance_rounds);
  };
  hold(on, two_deep(), deeper);
}
