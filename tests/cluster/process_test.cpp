#include <chrono>
#include <csignal>
#include <string>

#include "eight_processes.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::test::eight_processes;
using scoll::test::deed;
using scoll::test::order;
using scoll::test::process_cluster;
using scoll::test::report;

namespace {

/// Checks that every member in the subtree of `top` is in `state`, and that every other member has executed
/// and is merged.
void check_account(const report& r, std::uint32_t top, member_state state) {
  INFO(r.text);
  std::uint32_t merged = 0;
  for (std::uint32_t i = 0; i < n; ++i) {
    INFO("rank " << i);
    REQUIRE(to_string(r.states[i]) == to_string(below(i, top) ? state : member_state::merged));
    merged += r.states[i] == member_state::merged;
  }
  REQUIRE(!r.ok);
  REQUIRE(r.has_value);
  REQUIRE(r.value == merged);
}

}  // namespace

TEST_CASE("a killed member's subtree is unknown and nobody else is touched", "[process]") {
  for (const std::uint32_t victim : {7U, 4U, 2U}) {  // a leaf, interiors
    process_cluster c(n);
    REQUIRE(c.ask(0, c.broadcast_to_all(binomial)).ok);
    order o = c.broadcast_to_all(binomial, deed::dwell);
    o.milliseconds = 400;
    c.send(0, o);
    for (std::uint32_t i = 0; i < n; ++i) static_cast<void>(c.next(i, report::kind::executing));
    c.kill(victim);
    const report r = c.next(0, report::kind::result);
    check_account(r, victim, member_state::unknown);
    REQUIRE(r.phases[victim] == phase::delivery);
    REQUIRE(r.causes[victim] == errc::connection_lost);
    // In the next broadcast no member reaches the dead one, and its state is known.
    const report again = c.ask(0, c.broadcast_to_all(binomial));
    check_account(again, victim, member_state::not_reached);
    REQUIRE(again.causes[victim] == errc::unreachable);
    // The live members make a group of their own.
    REQUIRE(c.ask(0, c.broadcast_to_running(binomial)).ok);
    c.quit_all();
  }
}

TEST_CASE("a killed root takes nobody with it", "[process]") {
  process_cluster c(n);
  REQUIRE(c.ask(0, c.broadcast_to_all(binomial)).ok);
  order o = c.broadcast_to_all(binomial, deed::dwell);
  o.milliseconds = 200;
  c.send(0, o);
  for (std::uint32_t i = 0; i < n; ++i) static_cast<void>(c.next(i, report::kind::executing));
  c.kill(0);
  const report r = c.ask(3, c.broadcast_to_running(knomial{2}));
  INFO(r.text);
  REQUIRE(r.ok);
  REQUIRE(r.value == n - 1);
  c.quit_all();
}

TEST_CASE("a stopped member is unknown at the deadline and welcome afterwards", "[process]") {
  process_cluster c(n);
  REQUIRE(c.ask(0, c.broadcast_to_all(binomial)).ok);
  for (const std::uint32_t victim : {7U, 4U, 1U}) {
    order o = c.broadcast_to_all(binomial);
    o.deadline_ms = 1500;
    c.signal(victim, SIGSTOP);
    const report r = c.ask(0, o);
    c.signal(victim, SIGCONT);
    check_account(r, victim, member_state::unknown);
    REQUIRE(r.causes[victim] == errc::deadline_exceeded);
    const report again = c.ask(0, c.broadcast_to_all(binomial));
    INFO(again.text);
    REQUIRE(again.ok);
  }
  c.quit_all();
}

TEST_CASE("nothing without a deadline waits for a stopped process for ever", "[process]") {
  constexpr std::uint32_t stopped = 3;
  process_cluster c(4);
  order call = c.for_all(order::kind::call);
  order pull = c.for_all(order::kind::pull);
  order broadcast = c.broadcast_to_all(binomial, deed::dwell);
  call.victim = pull.victim = stopped;
  // No gossip tells of anything. All connections stand, and the operating system acknowledges what is sent.
  REQUIRE(c.ask(0, call).ok);
  REQUIRE(c.ask(1, pull).ok);
  REQUIRE(c.ask(2, broadcast).ok);
  c.signal(stopped, SIGSTOP);
  const auto began = std::chrono::steady_clock::now();
  c.send(0, call);
  c.send(1, pull);
  for (const std::uint32_t i : {0U, 1U}) {
    const report r = c.next(i, report::kind::result);
    INFO(r.text);
    REQUIRE_FALSE(r.ok);
    REQUIRE(r.code == errc::connection_lost);
    REQUIRE_THAT(std::string(r.text),
                 Catch::Contains("node 4") && Catch::Contains("has not answered for 10 s"));
  }
  const auto took = std::chrono::steady_clock::now() - began;
  REQUIRE(took > std::chrono::milliseconds(9'900));
  REQUIRE(took < std::chrono::milliseconds(15'000));  // 10.1 s, and what a busy machine adds
  const report r = c.ask(2, broadcast);
  REQUIRE(to_string(r.states[stopped]) == to_string(member_state::unknown));
  c.signal(stopped, SIGCONT);
  REQUIRE(c.ask(0, call).ok);
  REQUIRE(c.ask(1, pull).ok);
  REQUIRE(c.ask(2, broadcast).ok);
  c.quit_all();
}

TEST_CASE("a root that is stopped for a while finds its answer", "[process]") {
  process_cluster c(n);
  REQUIRE(c.ask(0, c.broadcast_to_all(binomial)).ok);
  order o = c.broadcast_to_all(binomial, deed::dwell);
  o.milliseconds = 100;
  c.send(0, o);
  for (std::uint32_t i = 1; i < n; ++i) static_cast<void>(c.next(i, report::kind::executing));
  c.signal(0, SIGSTOP);
  // While the root sleeps, the others do a broadcast that does not need it.
  order others;
  others.tree = binomial;
  for (std::uint32_t i = 1; i < n; ++i) others.member_ids[others.members++] = i + 1;
  REQUIRE(c.ask(1, others).ok);
  c.signal(0, SIGCONT);
  const report r = c.next(0, report::kind::result);
  INFO(r.text);
  REQUIRE(r.ok);
  REQUIRE(r.value == n);
  c.quit_all();
}

TEST_CASE("hooks that throw, answer too much, hang or loop are accounted for", "[process]") {
  process_cluster c(n);
  REQUIRE(c.ask(0, c.broadcast_to_all(binomial)).ok);
  order o = c.broadcast_to_all(binomial, deed::throw_up);
  o.victim = 6;
  report r = c.ask(0, o);
  REQUIRE(r.states[6] == member_state::failed);
  REQUIRE(r.phases[6] == phase::execute);
  REQUIRE(r.causes[6] == errc::hook_failed);
  REQUIRE(r.value == n - 1);

  o.action = deed::long_reply;
  r = c.ask(0, o);
  REQUIRE(r.states[6] == member_state::executed);
  REQUIRE(r.causes[6] == errc::too_large);
  REQUIRE(r.value == n - 2);  // rank 7's reply was merged into the one that did not fit

  o.action = deed::answer;
  o.request_bytes = 4096 - 13;
  REQUIRE(c.ask(0, o).ok);
  o.request_bytes = 4097 - 13;
  r = c.ask(0, o);
  REQUIRE(r.code == errc::too_large);
  REQUIRE(r.states[3] == member_state::not_reached);
  o.request_bytes = 0;

  for (const deed stuck : {deed::hang, deed::spin_on_pool}) {
    o.action = stuck;
    o.victim = 5;
    o.deadline_ms = 700;
    r = c.ask(0, o);
    INFO(r.text);
    REQUIRE(r.states[5] == member_state::unknown);
    REQUIRE(r.phases[5] == phase::execute);
    REQUIRE(r.causes[5] == errc::deadline_exceeded);
    REQUIRE(r.value == n - 1);
  }
  o.action = deed::answer;
  REQUIRE(c.ask(0, o).ok);  // the stuck member still serves

  order quit;
  quit.what = order::kind::quit;
  c.send(5, quit);
  const report left = c.next(5, report::kind::left);
  INFO(left.text);
  REQUIRE(left.hooks_named == 1);
  REQUIRE(std::string(left.text).find("worker::execute") != std::string::npos);
  REQUIRE(std::string(left.text).find("spin") != std::string::npos);
  c.kill(5);  // its pool thread still loops
  c.quit_all();
}
