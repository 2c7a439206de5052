#include <chrono>
#include <string>
#include <vector>

#include "agreeing.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("all members get the values of all, each once", "[agreement]") {
  const std::uint32_t n = GENERATE(1U, 2U, 3U, 7U, 16U);
  const tree_spec tree = GENERATE(tree_spec(knomial{2}), tree_spec(flat{}), tree_spec(chain{}));
  agreeing a(n, tree);
  a.call_all(1);
  a.land();
  a.check_agreed(rank_set::all(n), {});
  CHECK(a.nodes.quiet());
}

TEST_CASE("an agreement takes three broadcasts", "[agreement]") {
  const std::uint32_t n = GENERATE(2U, 5U, 16U);
  agreeing a(n);
  const auto before = a.requests_sent();
  a.call_all(1);
  a.land();
  REQUIRE(a.nodes.quiet());
  CHECK(a.requests_sent() - before == 3 * (n - 1));
}

TEST_CASE("members that call late are waited for", "[agreement]") {
  agreeing a(7);
  const std::uint32_t late = GENERATE(0U, 1U, 6U);
  for (std::uint32_t r = 0; r < 7; ++r) {
    if (r != late) a.call(r, 1);
  }
  a.nodes.ex.run_for(3500ms);
  for (std::uint32_t r = 0; r < 7; ++r) CHECK_FALSE(a.done(r));
  const time_point called = a.nodes.ex.now();
  a.call(late, 1);
  a.land();
  a.check_agreed(rank_set::all(7), {});
  for (std::uint32_t r = 0; r < 7; ++r) CHECK(a.ended(r) - called < 600ms);
}

TEST_CASE("what was agreed is told again, whatever value comes with the question", "[agreement]") {
  agreeing a(3);
  a.call_all(4);
  a.land();
  const auto before = a.requests_sent();
  a.call(1, 4);
  a.land();
  a.check_agreed(rank_set::all(3), {});
  CHECK(a.requests_sent() == before);
}

TEST_CASE("a member that is held dead fails, and the others agree without it", "[agreement]") {
  const std::uint32_t victim = GENERATE(0U, 1U, 4U, 6U);
  agreeing a(7, knomial{2}, 2);
  a.kill(victim);
  const time_point begun = a.nodes.ex.now();
  for (std::uint32_t r = 0; r < 7; ++r) {
    if (r != victim) a.call(r, 1);
  }
  a.land();
  a.check_agreed(but(7, {victim}), {victim});
  for (std::uint32_t r = 0; r < 7; ++r) CHECK(a.ended(r) - begun < 100ms);
}

TEST_CASE("a member that nobody reaches fails, although nobody calls it dead", "[agreement]") {
  agreeing a(7);
  const std::uint32_t victim = GENERATE(1U, 4U, 6U);
  a.nodes.kill(victim);
  for (std::uint32_t r = 0; r < 7; ++r) {
    if (r != victim) a.call(r, 1, {.deadline = 4s});
  }
  a.land();
  a.check_agreed(but(7, {victim}), {victim});
}

TEST_CASE("the lowest member need not be there", "[agreement]") {
  agreeing a(5);
  a.nodes.kill(0);
  for (std::uint32_t r = 1; r < 5; ++r) a.call(r, 1);
  a.land();
  a.check_agreed({1, 2, 3, 4}, {0});
}

TEST_CASE("half of the members do not agree", "[agreement]") {
  agreeing a(4);
  a.kill(2);
  a.kill(3);
  for (const std::uint32_t r : {0U, 1U}) a.call(r, 1);
  a.land();
  for (const std::uint32_t r : {0U, 1U}) {
    CHECK(a.answer(r).error() == errc::no_quorum);
    CHECK_FALSE(a.answer(r).has_value());
    CHECK_THAT(text_of(a.answer(r).error()), Contains("2 of 4 members are held dead: nodes 3 4"));
  }
}

TEST_CASE("a verdict that leaves too few members ends those who wait", "[agreement]") {
  agreeing a(3);
  for (const std::uint32_t r : {0U, 1U}) a.call(r, 1);
  a.nodes.ex.run_for(300ms);
  a.kill(2);
  a.nodes.ex.run_for(100ms);
  a.check_agreed({0, 1}, {2});
  a.call(0, 2);
  a.nodes.ex.run_for(100ms);
  CHECK_FALSE(a.done(0));
  a.kill(1);
  a.nodes.ex.run_for(100ms);
  REQUIRE(a.done(0));
  CHECK(a.answer(0).error() == errc::no_quorum);
}

TEST_CASE("survivors agree even if one is left", "[agreement]") {
  agreeing a(4, knomial{2}, 2);
  for (const std::uint32_t r : {0U, 1U, 3U}) a.kill(r);
  a.call(2, 1, {.quorum = agreement_quorum::survivors});
  a.land();
  a.check_agreed({2}, {0, 1, 3});
}

TEST_CASE("a call ends by its deadline and names whom it waited for", "[agreement]") {
  agreeing a(5);
  for (const std::uint32_t r : {0U, 1U, 3U}) a.call(r, 1, {.deadline = 700ms});
  const time_point begun = a.nodes.ex.now();
  a.land();
  CHECK(a.nodes.ex.now() - begun == 700ms);
  for (const std::uint32_t r : {0U, 1U, 3U}) CHECK(a.answer(r).error() == errc::undecided);
  CHECK_THAT(text_of(a.answer(0).error()), Contains("2 of 5 members had not called: nodes 3 5"));
  a.call_all(1);
  a.land();
  a.check_agreed(rank_set::all(5), {});
}

TEST_CASE("a value that was given once counts, though its caller waits no longer", "[agreement]") {
  agreeing a(3);
  a.call(2, 1, {.deadline = 10ms});
  a.land();
  CHECK(a.answer(2).error() == errc::undecided);
  for (const std::uint32_t r : {0U, 1U}) a.call(r, 1);
  a.nodes.ex.run_for(1s);
  a.check_agreed({0, 1}, {});
}

TEST_CASE("a member that is wrongly held dead hears the outcome, and that it is not in it", "[agreement]") {
  const std::uint32_t wronged = GENERATE(0U, 2U, 4U);
  agreeing a(5, knomial{2}, 1);
  a.hold_dead(wronged);
  a.call_all(1, {.deadline = 8s});
  a.land();
  a.check_agreed(but(5, {wronged}), {wronged});
  const auto& told = a.answer(wronged);
  CHECK(told.error() == errc::excluded);
  REQUIRE(told.has_value());
  CHECK(told->value == a.answer((wronged + 1) % 5)->value);
  CHECK(told.failed() == rank_set{wronged});
}

TEST_CASE("a stop token ends a call, and the value still counts", "[agreement]") {
  agreeing a(3);
  stop_source stop;
  a.call(1, 1, {.stop = stop.token()});
  a.nodes.ex.run_for(10ms);
  REQUIRE_FALSE(a.done(1));
  stop.request_stop();
  a.nodes.ex.run_now();
  REQUIRE(a.done(1));
  CHECK(a.answer(1).error() == errc::cancelled);
  for (const std::uint32_t r : {0U, 2U}) a.call(r, 1);
  a.land();
  a.check_agreed({0, 2}, {});
}

TEST_CASE("a proposer that dies is followed by the next", "[agreement]") {
  const std::uint32_t n = 5;
  const auto after = GENERATE(5us, 15us, 25us, 35us, 45us, 55us, 65us, 75us, 85us, 95us, 120us);
  agreeing a(n, flat{}, 1);
  a.call_all(1, {.deadline = 5s});
  a.nodes.ex.run_for(after);
  a.kill(0);
  a.land();
  const rank_set failed = a.answer(1).failed();
  a.check_agreed(but(n, a.answer(0).ok() ? rank_set{} : rank_set{0}), failed);
  CHECK((failed.empty() || failed == rank_set{0}));
  for (std::uint32_t r = 1; r < n; ++r) CHECK(a.ended(r) < a.nodes.ex.now() + 1ns);
}

TEST_CASE("numbers ascend: what lies 64 below is closed, and callers hear it", "[agreement]") {
  agreeing a(3);
  a.call(1, 10);
  a.call(0, 75);
  a.nodes.ex.run_for(100ms);
  REQUIRE(a.done(1));
  CHECK(a.answer(1).error() == errc::stale);
  a.call(1, 10);
  a.nodes.ex.run_now();
  CHECK(a.answer(1).error() == errc::stale);
  for (const std::uint32_t r : {1U, 2U}) a.call(r, 75);
  a.land();
  a.check_agreed(rank_set::all(3), {});
}

TEST_CASE("agreements run beside each other", "[agreement]") {
  agreeing a(3);
  for (std::uint64_t i = 1; i <= 20; ++i) {
    for (std::uint32_t r = 0; r < 3; ++r) a.call(r, i);
  }
  a.land();
  a.check_agreed(rank_set::all(3), {});
  CHECK(a.nodes.quiet());
}

TEST_CASE("a call that cannot work says why", "[agreement]") {
  agreeing a(3);
  const auto g = a.at(1);
  const auto error_of = [&](task<agreed<sum<std::uint64_t>>> work) {
    return a.nodes.run(std::move(work)).error();
  };
  using number = sum<std::uint64_t>;
  const number one{1};
  CHECK(error_of(group<probe>().agree(1, one)) == errc::invalid_argument);
  CHECK(error_of(g.only({1, 2}).agree(1, one)) == errc::invalid_argument);
  CHECK(error_of(g.agree(1, one, {.deadline = 0s})) == errc::deadline_exceeded);
  stop_source stop;
  stop.request_stop();
  CHECK(error_of(g.agree(1, one, {.stop = stop.token()})) == errc::cancelled);

  set_union<std::uint64_t> large;
  for (std::uint64_t i = 0; i < 200; ++i) large.insert(i);
  CHECK(a.nodes.run(g.agree(1, large)).error() == errc::too_large);

  const auto adopted = a.nodes[1].adopt_group<probe>(7, g.shared_members()).value();
  const error not_created = error_of(adopted.agree(1, one));
  CHECK(not_created == errc::invalid_argument);
  CHECK_THAT(text_of(not_created), Contains("settle()"));

  CHECK(error_of(g.agree(1, one, {.deadline = 1ms})) == errc::undecided);
  CHECK(error_of(g.agree(1, one, {.quorum = agreement_quorum::survivors})) == errc::invalid_argument);
  CHECK(a.nodes.run(g.agree(1, all_of{})).error() == errc::invalid_argument);
  for (std::uint64_t i = 2; i < 65; ++i)
    CHECK(error_of(g.agree(i, one, {.deadline = 1ms})) == errc::undecided);
  CHECK(error_of(g.agree(65, one, {.deadline = 1ms})) == errc::busy);
}

TEST_CASE("values that together are too large end the agreement", "[agreement]") {
  agreeing a(3);
  std::vector<error> errors;
  const auto go = [&](std::uint32_t rank) -> task<void> {
    set_union<std::uint64_t> mine;
    for (std::uint64_t i = 0; i < 100; ++i) mine.insert(100 * rank + i);
    const auto g = a.at(rank);
    const auto r = co_await g.agree(1, mine, {.deadline = 3s});
    errors.push_back(r.error());
  };
  scope s(a.nodes.ex);
  for (std::uint32_t r = 0; r < 3; ++r) s.spawn(go(r));
  a.nodes.ex.run_for(4s);
  a.nodes.run([&]() -> task<void> { co_await s.join(); }());
  REQUIRE(errors.size() == 3);
  for (const error& e : errors) CHECK((e == errc::too_large || e == errc::undecided));
  CHECK(errors.front() == errc::too_large);
}

TEST_CASE("members that use another quorum or another type do not agree", "[agreement]") {
  agreeing a(2);
  a.call(0, 1, {.deadline = 500ms});
  a.call(1, 1, {.deadline = 500ms, .quorum = agreement_quorum::survivors});
  a.land();
  CHECK(a.answer(0).error() == errc::invalid_argument);
  CHECK_FALSE(a.answer(1).ok());

  a.call(0, 2, {.deadline = 500ms});
  const auto g = a.at(1);
  const auto other = a.nodes.run(g.agree(2, all_of{}, {.deadline = 500ms}));
  a.land();
  CHECK(a.answer(0).error() == errc::malformed);
  CHECK_FALSE(other.ok());
}

TEST_CASE("calls end when the group is destroyed or the node shuts down", "[agreement]") {
  agreeing a(3);
  a.call(1, 1);
  a.call(2, 1);
  a.nodes.ex.run_for(10ms);
  CHECK(a.nodes.stop(2).has_value());
  a.nodes.ex.run_now();
  REQUIRE(a.done(2));
  CHECK(a.answer(2).error() == errc::closed);
  a.nodes.run(a.nodes[0].destroy(a.at(0))).ignore();
  a.nodes.ex.run_for(10ms);
  REQUIRE(a.done(1));
  CHECK(a.answer(1).error() == errc::unknown_group);
}

TEST_CASE("survivors that do not reach each other, and that nobody holds dead, do not decide apart",
          "[agreement]") {
  agreeing a(2);
  const agree_options options{.deadline = 20s, .quorum = agreement_quorum::survivors};
  a.nodes.kill(1);
  a.call_all(1, options);
  a.nodes.ex.run_for(8s);
  CHECK_FALSE(a.done(0));
  CHECK_FALSE(a.done(1));
  SECTION("they decide together when they reach each other") {
    a.nodes.revive(1);
    a.land();
    a.check_agreed({0, 1}, {});
  }
  SECTION("one decides alone when the other is held dead") {
    a.hold_dead(1);
    a.nodes.ex.run_for(3s);
    a.check_agreed({0}, {1});
  }
}

TEST_CASE("a call may begin when the group that it was made with is gone", "[agreement][shrink]") {
  agreeing a(1);
  auto held = std::make_unique<group<probe>>(a.at(0));
  auto agreement = held->agree(1, agreeing::value{7});
  auto shrink = held->shrink();
  auto settle = held->settle();
  held.reset();
  const auto agreed = a.nodes.run(std::move(agreement));
  CHECK(agreed.ok());
  const auto shrunk = a.nodes.run(std::move(shrink));
  CHECK(shrunk.has_value());
  const auto settled = a.nodes.run(std::move(settle));
  CHECK(settled.has_value());
}

TEST_CASE("a node that shuts down does not wait to tell a silent member an outcome", "[agreement]") {
  agreeing a(3);
  a.nodes.kill(2);
  for (const std::uint32_t r : {0U, 1U}) a.call(r, 1, {.deadline = 4s});
  a.land();
  a.check_agreed({0, 1}, {2});
  // The silent member is told again and again, after longer and longer pauses.
  a.nodes.ex.run_for(1s);
  auto& engine = a.nodes.engine(0);
  while (engine.operations() == 0) a.nodes.ex.world().step(a.nodes.ex.world().now() + 1s);
  while (engine.operations() != 0) a.nodes.ex.world().step(a.nodes.ex.world().now() + 1s);
  const time_point begun = a.nodes.ex.now();
  engine.stop_telling();
  a.nodes.run(engine.join());
  CHECK(a.nodes.ex.now() - begun < 1ms);
}

TEST_CASE("the outcome reaches a member that calls after it was decided", "[agreement]") {
  agreeing a(3);
  a.call_all(1);
  a.land();
  for (std::uint64_t i = 2; i <= 8; ++i) {
    a.call_all(i);
    a.land();
  }
  a.call(2, 1);
  a.nodes.ex.run_now();
  REQUIRE(a.done(2));
  CHECK(a.answer(2).ok());
  a.call_all(9);
  a.land();
  a.call(2, 1);
  a.nodes.ex.run_now();
  CHECK(a.answer(2).error() == errc::stale);
}
