#include "scoll/coro/ready_node.hpp"

#include <string>
#include <vector>

#include "death.hpp"
#include "logging_nodes.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;

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
