#include "scoll/coro/frame_pool.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "endurance.hpp"
#include "scoll/coro/async_queue.hpp"
#include "scoll/coro/completion.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/coro/when_any.hpp"
#include "scoll/coro/worker_pool.hpp"
#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

namespace {

task<status> nap(nanoseconds d, stop_token stop) {
  co_return co_await sleep_for(d, stop);
}

}  // namespace

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

TEST_CASE("a steady state allocates nothing") {
  if constexpr (!frame_pool::pooling) return;
  virtual_executor on;
  worker_pool pool({.threads = 1, .queued = 4});
  stack_probe probe;
  async_queue<int> queue(1);
  event turn;
  semaphore permits(0);
  gate entry;
  scope background(on);
  auto echo = [&]() -> task<void> {
    while (true) {
      const result<int> x = co_await queue.pop();
      if (!x) co_return;
      permits.release();
    }
  };
  auto filler = [](completion<int>& slot) -> task<void> {
    co_await yield();
    slot.set(1);
  };
  auto once = [&]() -> task<void> {
    (void)co_await nested(probe);
    (void)co_await later(probe);
    deadline_stop limit(deadline::in(5ns));
    const status late = co_await sleep_for(1h, limit.token());
    const status pushed = co_await queue.push(1);
    co_await permits.acquire();
    const result<gate_pass> pass = entry.enter();
    (void)co_await when_all(later(probe), one(probe));
    std::array<task<void>, 2> two{nothing(probe), nothing(probe)};
    co_await when_all(std::span<task<void>>(two));
    stop_source source;
    auto race = co_await when_any(source, nap(1ns, source.token()), nap(1h, source.token()));
    completion<int> slot;
    scope s;
    s.spawn(filler(slot));
    const result<int> filled = co_await slot.wait();
    co_await s.join();
    const result<int> pooled = co_await pool.run("one", [](const cancel_flag&) { return 1; });
    must(!late && pushed && pass && race.index == 0 && filled && pooled);
  };
  auto body = [&]() -> task<void> {
    for (int i = 0; i < 100; ++i) co_await once();
    const std::size_t before = allocation_counter::on_this_thread();
    for (int i = 0; i < 2000; ++i) co_await once();
    CHECK(allocation_counter::on_this_thread() == before);
    queue.close();
    co_await background.join();
  };
  background.spawn(echo());
  sync_wait(on, body());
}
