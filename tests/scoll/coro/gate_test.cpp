#include "scoll/coro/gate.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "death.hpp"
#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;

TEST_CASE("a gate lets in until it is closed and awaits those inside") {
  bench b;
  log_of log;
  gate g;
  std::optional<gate_pass> held;
  {
    result<gate_pass> first = g.enter();
    REQUIRE(first);
    result<gate_pass> second = g.enter();
    REQUIRE(second);
    held = std::move(*second);
    CHECK(g.inside() == 2);
    gate_pass moved = std::move(*first);
    CHECK(moved);
    moved = gate_pass();
    CHECK_FALSE(moved);
  }
  CHECK(g.inside() == 1);
  auto closer = [&](const char* who) -> task<void> {
    co_await g.close();
    log.emplace_back(who);
  };
  CHECK_FALSE(g.closed());
  b.spawn(closer("a"));
  b.spawn(closer("b"));
  b.run();
  CHECK(g.closed());
  CHECK(log.empty());
  CHECK(g.enter().error() == errc::closed);
  held.reset();
  CHECK(log.empty());
  b.run();
  CHECK(log == log_of{"a", "b"});
  b.spawn(closer("c"));
  b.run();
  CHECK(log.back() == "c");
  const death d = die([] {
    auto dying = std::make_unique<gate>();
    auto pass = dying->enter();
    dying.reset();
  });
  CHECK(d.message.find("someone is inside") != std::string::npos);
}
