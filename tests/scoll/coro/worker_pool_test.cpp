#include "scoll/coro/worker_pool.hpp"

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "scoll/coro/completion.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/coro/yield.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

namespace {

/// A barrier at which functions on workers wait until it is opened; they keep it alive.
class barrier {
 public:
  void arrive_and_wait() {
    arrived_.fetch_add(1);
    arrived_.notify_all();
    open_.wait(false);
  }
  void await_arrivals(int n) {
    for (int seen = arrived_.load(); seen < n; seen = arrived_.load()) arrived_.wait(seen);
  }
  void open() {
    open_.store(true);
    open_.notify_all();
  }

 private:
  std::atomic<int> arrived_{0};
  std::atomic<bool> open_{false};
};

/// Waits in real time for an action of another thread.
template <class Condition>
bool soon(Condition condition) {
  for (int i = 0; i < 1'000'000; ++i) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace

TEST_CASE("work posted from other threads runs on the executor, in order per thread") {
  class ping final : public posted_node {
   public:
    ping(std::vector<std::size_t>& log, std::size_t number)
        : posted_node(&run), log_(&log), number_(number) {}

   private:
    static void run(posted_node& self) noexcept {
      auto& p = static_cast<ping&>(self);
      p.log_->push_back(p.number_);
    }
    std::vector<std::size_t>* log_;
    std::size_t number_;
  };
  constexpr std::size_t threads = 4, each = 500;
  virtual_executor on;
  std::vector<std::size_t> log;
  std::vector<std::unique_ptr<ping>> pings;
  for (std::size_t i = 0; i < threads * each; ++i) pings.push_back(std::make_unique<ping>(log, i));
  std::vector<std::jthread> posters;
  for (std::size_t t = 0; t < threads; ++t) {
    posters.emplace_back([&, t] {
      for (std::size_t i = 0; i < each; ++i) on.post(*pings[t * each + i]);
    });
  }
  while (log.size() < threads * each) on.run_once(1s);
  std::vector<std::size_t> next(threads, 0);
  for (const std::size_t number : log) CHECK(number % each == next[number / each]++);
  CHECK_FALSE(on.run_once(0ns));
}

TEST_CASE("a pool runs functions on other threads and resumes on the executor") {
  virtual_executor on;
  worker_pool pool;
  const std::thread::id home = std::this_thread::get_id();
  auto body = [&]() -> task<void> {
    const result<std::thread::id> id = co_await pool.run("id", [] { return std::this_thread::get_id(); });
    CHECK(*id != home);
    CHECK(std::this_thread::get_id() == home);
    CHECK(&executor::current() == &on);

    const status nothing = co_await pool.run("nothing", [](const cancel_flag&) {});
    CHECK(nothing);
    const result<int> flat = co_await pool.run("flat", []() -> result<int> { return errc::not_found; });
    CHECK(flat.error() == errc::not_found);

    const result<int> threw =
        co_await pool.run("throws", []() -> int { throw std::runtime_error("bad sector"); });
    CHECK(threw.error() == error(errc::hook_failed, "bad sector"));
    const result<int> odd = co_await pool.run("throws", []() -> int { throw 3; });
    CHECK(odd.error() == error(errc::hook_failed, "the function threw"));
    const result<int> failed = co_await pool.run("fails", []() -> int { throw failure(errc::not_found); });
    CHECK(failed.error() == errc::not_found);

    auto data = std::make_shared<int>(5);
    auto owner = [data] { return std::make_unique<int>(*data); };
    result<std::unique_ptr<int>> copied = co_await pool.run("owner", owner);
    CHECK(**copied == 5);
    CHECK(data.use_count() == 2);
    auto moved = [p = std::make_unique<int>(7), data] { return *p; };
    const result<int> from_moved = co_await pool.run_moved("moved", moved);
    CHECK(*from_moved == 7);
    CHECK(data.use_count() == 2);
  };
  sync_wait(on, body());
}

TEST_CASE("a full pool says busy and a stopped pool says closed") {
  virtual_executor on;
  auto gate = std::make_shared<barrier>();
  worker_pool pool({.threads = 1, .queued = 2});
  int served = 0, busy = 0;
  auto block = [gate] { gate->arrive_and_wait(); };
  auto caller = [&]() -> task<void> {
    const status s = co_await pool.run("block", block);
    if (s) ++served;
    if (!s && s.error() == errc::busy && s.error().text().find("node.worker_queue is ") != std::string::npos)
      ++busy;
  };
  auto body = [&]() -> task<void> {
    scope s;
    s.spawn(caller());
    co_await yield();
    gate->await_arrivals(1);
    for (int i = 0; i < 5; ++i) s.spawn(caller());
    co_await yield();
    CHECK(busy == 3);
    gate->open();
    co_await s.join();
    CHECK(served == 3);
    const std::vector<const char*> names = co_await pool.shutdown(1s);
    CHECK(names.empty());
    const status late = co_await pool.run("late", block);
    CHECK(late.error() == errc::closed);
    const std::vector<const char*> again = co_await pool.shutdown(1s);
    CHECK(again.empty());
  };
  sync_wait(on, body());
}

TEST_CASE("a pooled function is cancelled before, in the queue and while it runs") {
  virtual_executor on;
  auto gate = std::make_shared<barrier>();
  worker_pool pool({.threads = 1, .queued = 4});
  auto spin = [gate](const cancel_flag& cancel) {
    gate->arrive_and_wait();
    while (!cancel.requested()) std::this_thread::yield();
    return 17;
  };
  auto body = [&]() -> task<void> {
    stop_source before, queued, running;
    before.request_stop();
    const result<int> never_begun = co_await pool.run("before", spin, before.token());
    CHECK(never_begun.error() == errc::cancelled);

    scope s;
    auto first = [&]() -> task<void> {
      const result<int> r = co_await pool.run("running", spin, running.token());
      CHECK(*r == 17);  // begun, so the answer is what it returned
    };
    bool left = false;
    auto second = [&]() -> task<void> {
      const result<int> r = co_await pool.run("queued", spin, queued.token());
      CHECK(r.error() == errc::cancelled);
      left = true;
    };
    s.spawn(first());
    co_await yield();
    gate->await_arrivals(1);
    s.spawn(second());
    co_await yield();
    queued.request_stop();
    co_await yield();
    CHECK(left);
    gate->open();
    running.request_stop();
    co_await s.join();

    stop_source after;
    const result<int> done = co_await pool.run("after", [] { return 1; }, after.token());
    CHECK(*done == 1);
    after.request_stop();
  };
  sync_wait(on, body());
}

TEST_CASE("a function that never returns blocks its thread alone, and a shutdown names it") {
  virtual_executor on;
  auto gate = std::make_shared<barrier>();
  auto owned = std::make_shared<std::string>("kept alive");
  const std::weak_ptr<std::string> watch = owned;
  auto told = std::make_shared<std::atomic<bool>>(false);
  auto hang = [gate, owned, told](const cancel_flag& cancel) {
    gate->arrive_and_wait();
    *told = cancel.requested();
    return owned->size();
  };
  owned.reset();
  {
    worker_pool pool({.threads = 2, .queued = 4});
    auto body = [&]() -> task<void> {
      scope s;
      auto hanging = [&]() -> task<void> {
        const result<std::size_t> r = co_await pool.run_moved("hang", hang);
        CHECK(r.error() == errc::closed);
      };
      s.spawn(hanging());
      co_await yield();
      gate->await_arrivals(1);
      for (int i = 0; i < 20; ++i) {
        const result<int> other = co_await pool.run("other", [] { return 1; });
        CHECK(*other == 1);
      }
      const std::vector<const char*> names = co_await pool.shutdown(10ms);
      CHECK(names.size() == 1);
      CHECK(names.front() == std::string("hang"));
      co_await s.join();  // its awaiter has gone on
    };
    const time_point start = on.now();
    sync_wait(on, body());
    CHECK(on.now() - start == 10ms);
  }
  CHECK_FALSE(watch.expired());  // what it uses is its own
  gate->open();
  CHECK(soon([&] { return watch.expired(); }));
  CHECK(*told);
}

TEST_CASE("a shutdown refuses what is queued and waits for what ends in time") {
  virtual_executor on;
  auto gate = std::make_shared<barrier>();
  worker_pool pool({.threads = 1, .queued = 4});
  auto obedient = [gate](const cancel_flag& cancel) {
    gate->arrive_and_wait();
    while (!cancel.requested()) std::this_thread::yield();
    return 3;
  };
  int refused = 0, answered = 0;
  auto caller = [&]() -> task<void> {
    const result<int> r = co_await pool.run("obedient", obedient);
    if (r) answered += *r;
    if (!r && r.error() == errc::closed) ++refused;
  };
  auto body = [&]() -> task<void> {
    scope s;
    s.spawn(caller());
    co_await yield();
    gate->await_arrivals(1);
    for (int i = 0; i < 3; ++i) s.spawn(caller());
    co_await yield();
    gate->open();
    const std::vector<const char*> names = co_await pool.shutdown(nanoseconds::max());
    CHECK(names.empty());
    co_await s.join();
  };
  sync_wait(on, body());
  CHECK(refused == 3);
  CHECK(answered == 3);
}

TEST_CASE("a pool that is destroyed while functions run leaves them to themselves") {
  virtual_executor on;
  auto gate = std::make_shared<barrier>();
  const std::weak_ptr<barrier> watch = gate;
  auto pool = std::make_unique<worker_pool>(worker_pool_options{.threads = 2, .queued = 8});
  auto hang = [gate] { gate->arrive_and_wait(); };
  int closed = 0;
  auto caller = [&]() -> task<void> {
    stop_source source;
    const status s = co_await pool->run("hang", hang, source.token());
    source.request_stop();
    if (!s && s.error() == errc::closed) ++closed;
  };
  auto body = [&]() -> task<void> {
    scope s;
    for (int i = 0; i < 5; ++i) s.spawn(caller());
    co_await yield();
    gate->await_arrivals(2);
    pool.reset();
    co_await s.join();
    CHECK(closed == 5);
  };
  sync_wait(on, body());
  gate->open();
  gate.reset();
  {
    const auto last = std::move(hang);
  }
  CHECK(soon([&] { return watch.expired(); }));
}

TEST_CASE("a pool serves several executors at once") {
  worker_pool pool({.threads = 2, .queued = 16});
  std::atomic<int> sum{0};
  {
    std::vector<std::jthread> reactors;
    for (int t = 0; t < 3; ++t) {
      reactors.emplace_back([&] {
        virtual_executor on;
        auto body = [&]() -> task<void> {
          for (int i = 0; i < 200; ++i) {
            stop_source source;
            auto add = [i] { return i; };
            auto awaited = pool.run("add", add, source.token());
            const result<int> r = co_await awaited;
            source.request_stop();
            if (r) sum += *r;
          }
        };
        sync_wait(on, body());
      });
    }
  }
  CHECK(sum == 3 * 199 * 100);
}

TEST_CASE("random stops against running functions always end in an answer") {
  virtual_executor on;
  worker_pool pool({.threads = 2, .queued = 64});
  int ended = 0;
  auto caller = [&](int turns) -> task<void> {
    stop_source source;
    scope s;
    auto stopper = [&]() -> task<void> {
      for (int i = 0; i < turns; ++i) co_await yield();
      source.request_stop();
    };
    s.spawn(stopper());
    const result<int> r = co_await pool.run(
        "look",
        [](const cancel_flag& cancel) {
          for (int i = 0; i < 100; ++i) {
            if (cancel.requested()) return 1;
          }
          return 0;
        },
        source.token());
    if (r || r.error() == errc::cancelled) ++ended;
    co_await s.join();
  };
  auto body = [&]() -> task<void> {
    scope s;
    for (int round = 0; round < 100; ++round) {
      scope batch;
      for (int i = 0; i < 20; ++i) batch.spawn(caller(i));
      co_await batch.join();
    }
    co_await s.join();
  };
  sync_wait(on, body());
  CHECK(ended == 2000);
}
