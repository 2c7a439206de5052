#include "scoll/coro/executor.hpp"

#include <string>
#include <thread>
#include <vector>

#include "death.hpp"
#include "logging_nodes.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;

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
