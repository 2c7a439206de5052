#include "scoll/coro/sync_wait.hpp"

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "death.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/scope.hpp"
#include "tasks.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

TEST_CASE("a run that nothing can wake is a deadlock in virtual time") {
  const death d = die([] {
    virtual_executor on;
    event e;
    auto body = [&]() -> task<void> { co_await e.wait(); };
    run(on, body());
  });
  CHECK(d.message.find("deadlock in virtual time") != std::string::npos);
  const death nested = die([] {
    virtual_executor on;
    auto body = [&]() -> task<int> { co_return run(on, value_of(1)); };
    (void)run(on, body());
  });
  CHECK(nested.message.find("within its own turn") != std::string::npos);
}

TEST_CASE("a run ends with its task and leaves later timers alone") {
  virtual_executor on;
  scope background(on);
  std::vector<int> log;
  background.spawn(note(log, 1, 1h));
  const time_point start = on.now();
  CHECK(run(on, later(4, 1ms)) == 4);
  CHECK(on.now() - start == 1ms);
  CHECK(sync_wait(on, later(5, 1ms)) == 5);
  CHECK(log.empty());
  auto join = [&]() -> task<void> { co_await background.join(); };
  run(on, join());
  CHECK(on.now() - start == 1h);
}
