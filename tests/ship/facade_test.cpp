#include <thread>

#include "../node/tcp_cluster.hpp"
#include "calls.hpp"
#include "scoll/ship_and_wait.hpp"
#include "scoll/ship_then.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

TEST_CASE("callbacks hear how their calls ended") {
  cluster c(2);
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

TEST_CASE("other threads ship calls and block until they have ended", "[tcp]") {
  handlers h;
  tcp_cluster c(2);
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
      if (t == 0) late = ship_and_wait(c[0], 2, wait_until_told, {}, 20ms).error() == errc::deadline_exceeded;
      --running;
    });
  }
  while (running != 0) c.ring->run_once(1ms);
  for (auto& t : threads) t.join();
  for (const std::uint64_t sum : sums) CHECK(sum == 49 * 50 / 2 + 50);
  CHECK(late);
}
