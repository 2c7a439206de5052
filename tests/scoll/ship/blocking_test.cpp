#include "scoll/blocking.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "calls.hpp"
#include "scoll/bulk/bulk.hpp"
#include "tests/scoll/coro/death.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

TEST_CASE("callbacks hear how their calls ended") {
  virtual_cluster c(2);
  handlers h;
  h.serve_all(c[1]);
  scope work(c.ex);
  std::uint64_t sum = 0;
  error told;
  ship_then(work, c[0], 2, add, {2, 3}, [&](const ship_result<std::uint64_t>& r) { sum = r.value_or(0U); });
  ship_then(work, c[0], 2, fail, 1U, [&](const ship_result<nothing>& r) { told = r.error(); });
  CHECK(sum == 0);
  const auto join = [&]() -> task<void> { co_await work.join(); };
  c.run(join());
  CHECK(sum == 5);
  CHECK(told == error::user(42, "told to fail"));
}

TEST_CASE("callbacks hear how notifications, pulls and pushes ended") {
  virtual_cluster c(2);
  handlers h;
  h.serve_all(c[1]);
  std::vector<std::byte> store(100'000, std::byte{1});
  auto handle = expose(c[1], std::span(store), memory_access::read_write);
  REQUIRE(handle);
  const region_descriptor d = handle->descriptor();
  std::vector<std::byte> local(store.size(), std::byte{2});
  scope work(c.ex);
  int good = 0;
  const auto count = [&](const auto& ended) { good += ended.has_value(); };
  run_then(work, [&] { return notify(c[0], 2, fail, 1U); }, count);
  run_then(
      work, [&] { return pull(c[0], d, 0, std::span(local).first(10)); },
      [&](const status& ended) {
        count(ended);
        run_then(
            work, [&] { return push(c[0], d, 10, std::span<const std::byte>(local).subspan(10)); }, count);
      });
  CHECK(good == 0);
  const auto join = [&]() -> task<void> { co_await work.join(); };
  c.run(join());
  CHECK(good == 3);
  CHECK(h.begun == 1);
  CHECK(std::count(local.begin(), local.end(), std::byte{1}) == 10);
  CHECK(std::count(store.begin(), store.end(), std::byte{2}) == 100'000 - 10);
}

TEST_CASE("other threads ship calls and block until they have ended", "[tcp]") {
  handlers h;
  cluster c(world_kind::tcp_v4, 2);
  h.serve_all(c[1]);
  int left = 4;
  std::uint64_t sums[4] = {};
  bool late = false;
  std::vector<std::thread> threads;
  std::atomic<int> running = 4;
  for (int t = 0; t < left; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint32_t i = 0; i < 50; ++i) {
        const auto r = ship_and_wait(c[0], 2, add, {i, 1});
        if (r) sums[t] += *r;
      }
      if (t == 0) {
        ship_options options;
        options.deadline = 20ms;
        late = ship_and_wait(c[0], 2, wait_until_told, {}, options).error() == errc::deadline_exceeded;
      }
      --running;
    });
  }
  while (running != 0) c.run_once(1ms);
  for (auto& t : threads) t.join();
  for (const std::uint64_t sum : sums) CHECK(sum == 49 * 50 / 2 + 50);
  CHECK(late);
}

TEST_CASE("other threads notify, pull and push, and a stop token ends what they wait for", "[tcp]") {
  handlers h;
  cluster c(world_kind::tcp_v4, 2);
  h.serve_all(c[1]);
  std::vector<std::byte> store(100'000, std::byte{1});
  auto handle = expose(c[1], std::span(store), memory_access::read_write);
  REQUIRE(handle);
  const region_descriptor d = handle->descriptor();
  std::vector<std::byte> local(store.size());
  stop_source stop;
  bool notified = false;
  bool pulled = false;
  bool pushed = false;
  error ended;
  std::atomic<bool> running = true;
  std::thread other([&] {
    notified = run_and_wait(c[0], [&] { return notify(c[0], 2, fail, 2U); }).has_value();
    pulled = run_and_wait(c[0], [&] { return pull(c[0], d, 0, std::span(local)); }).has_value();
    const std::span<const std::byte> none = std::span<const std::byte>(local).first(0);
    pushed = run_and_wait(c[0], [&] { return push(c[0], d, 0, none); }).has_value();
    ship_options options;
    options.stop = stop.token();
    ended = ship_and_wait(c[0], 2, wait_until_told, {}, options).error();
    running = false;
  });
  while (running) {
    c.run_once(1ms);
    if (h.begun == 2) stop.request_stop();  // it waits in the handler of `wait_until_told`
  }
  other.join();
  CHECK(notified);
  CHECK(pulled);
  CHECK(pushed);
  CHECK(local == store);
  CHECK(ended == errc::cancelled);
}

TEST_CASE("blocking for a node is refused on the thread of its executor") {
  virtual_cluster c(2);
  handlers h;
  h.serve_all(c[1]);
  const auto first_turn = []() -> task<void> { co_return; };
  c.run(first_turn());  // an executor belongs to the thread of its first turn
  REQUIRE(c.ex.runs_here());
  bool elsewhere = true;
  std::thread other([&] { elsewhere = c.ex.runs_here(); });
  other.join();
  CHECK_FALSE(elsewhere);
  const auto refused = [](const death& d) {
    return d.aborted && d.message.find("co_await the work there, or use run_then") != std::string::npos;
  };
  CHECK(refused(die([&] { ship_and_wait(c[0], 2, add, {1, 2}).ignore(); })));
  const auto within_a_turn = [&]() -> task<void> {
    run_and_wait(c[0], [&] { return ship(c[0], 2, add, {1, 2}); }).ignore();
    co_return;
  };
  CHECK(refused(die([&] { c.run(within_a_turn()); })));
}
