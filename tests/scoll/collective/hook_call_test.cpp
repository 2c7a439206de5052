#include "scoll/detail/hook_call.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;
using detail::hook_call;
using testing::virtual_executor;

namespace {

using keep_number = detail::keep_value<int, detail::in_optional<int>>;

task<result<int>> seven(nanoseconds after) {
  if (after > 0ns) co_await sleep_for(after);
  co_return 7;
}
task<status> throwing(nanoseconds after) {
  if (after > 0ns) co_await sleep_for(after);
  throw std::runtime_error("the disk is on fire");
}

status outcome_of(hook_call call) {
  virtual_executor on;
  auto body = [&]() -> task<status> { co_return co_await std::move(call); };
  return run(on, body());
}

}  // namespace

TEST_CASE("a hook that is a plain function has returned when it has been called, and takes no frame") {
  std::optional<int> number;
  const auto before = frame_pool::thread_statistics();
  hook_call value = hook_call::of<keep_number>("it threw", &number, [] { return 5; });
  CHECK(value.done());
  CHECK(value.take());
  CHECK(number == 5);
  hook_call nothing = hook_call::of("it threw", nullptr, [] {});
  CHECK(nothing.take());
  hook_call refused =
      hook_call::of<keep_number>("it threw", &number, []() -> result<int> { return errc::busy; });
  CHECK(refused.take().error() == errc::busy);
  hook_call odd = hook_call::of("it threw", nullptr, []() -> status { throw 3; });
  CHECK(odd.take().error() == error(errc::hook_failed, "it threw"));
  const auto after = frame_pool::thread_statistics();
  CHECK(after.hits + after.misses == before.hits + before.misses);
}

TEST_CASE("a hook that is a task runs when it is awaited, and ends with a status and its value") {
  const nanoseconds delay = GENERATE(0ns, 5ns);
  std::optional<int> number;
  hook_call value = hook_call::of<keep_number>("it threw", &number, [&] { return seven(delay); });
  CHECK_FALSE(value.done());
  CHECK_FALSE(number.has_value());
  hook_call moved;
  moved = std::move(value);
  const status ended = outcome_of(std::move(moved));
  CHECK(ended);
  CHECK(number == 7);
  CHECK(outcome_of(hook_call::of("it threw", nullptr, [&] { return throwing(delay); })).error() ==
        error(errc::hook_failed, "the disk is on fire"));
  const hook_call never_awaited = hook_call::of("it threw", nullptr, [&] { return throwing(delay); });
}

TEST_CASE("a task takes one frame to be a hook") {
  if constexpr (!frame_pool::pooling) return;
  virtual_executor on;
  std::optional<int> number;
  auto body = [&]() -> task<std::uint64_t> {
    const auto before = frame_pool::thread_statistics();
    hook_call call = hook_call::of<keep_number>("it threw", &number, [] { return seven(0ns); });
    const status ended = co_await std::move(call);
    const auto after = frame_pool::thread_statistics();
    CHECK(ended);
    co_return after.hits + after.misses - before.hits - before.misses;
  };
  CHECK(run(on, body()) == 1);
}
