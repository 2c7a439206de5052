#include "scoll/coro.hpp"

#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace {

scoll::task<int> add(int a, int b) {
  co_await scoll::yield();
  co_return a + b;
}

scoll::task<int> multiply_sums() {
  const auto sums = co_await scoll::when_all(add(1, 2), add(3, 4));
  co_await scoll::sleep_for(std::chrono::milliseconds(5));
  co_return std::get<0>(sums) * std::get<1>(sums);
}

}  // namespace

TEST_CASE("scoll/coro.hpp is enough to write, combine and run tasks") {
  scoll::testing::virtual_executor loop;
  CHECK(sync_wait(loop, multiply_sums()) == 21);
  CHECK(describe(scoll::error(scoll::errc::busy, "no slot is free")).find("no slot is free") !=
        std::string::npos);
}
