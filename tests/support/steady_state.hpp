#pragma once

#include <cstddef>

#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"

namespace scoll::test {

/// Calls `work` twelve times, which must succeed, and returns what the last eight have allocated on this thread. In the
/// first ones, queues and pools grow to what they need once.
template <class Work>
std::size_t allocated_in_steady_state(Work&& work) {
  const auto repeat = [&](int times) {
    int good = 0;
    for (int i = 0; i < times; ++i) good += work() ? 1 : 0;
    return good;
  };
  REQUIRE(repeat(4) == 4);
  const std::size_t before = allocation_counter::on_this_thread();
  const int good = repeat(8);
  const std::size_t allocated = allocation_counter::on_this_thread() - before;
  CHECK(good == 8);
  return allocated;
}

}  // namespace scoll::test
