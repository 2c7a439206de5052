#include <csignal>
#include <string>
#include <vector>

#include "eight_processes.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::test::eight_processes;
using scoll::test::mishap;
using scoll::test::order;
using scoll::test::process_cluster;
using scoll::test::report;

namespace {

constexpr std::uint32_t pieces = 16;
const std::vector<bulk_plan> plans{bulk_plan::whole(), bulk_plan::chain(), bulk_plan::binary(),
                                   bulk_plan::knomial(2), bulk_plan::circulant()};

order spread(const process_cluster& c, const bulk_plan& plan, mishap what = mishap::none,
             std::uint32_t victim = 0, std::uint32_t piece = 0, std::uint32_t of = pieces) {
  order o = c.for_all(order::kind::spread);
  o.tree = binomial;
  o.object_bytes = of * test::depot::piece_bytes;
  o.plan = plan;
  o.what_happens = what;
  o.victim = victim;
  o.piece = piece;
  return o;
}

/// One member is killed when it has a certain piece. Those that are not below it have the whole object.
void kill_one(const bulk_plan& plan, std::uint32_t victim, std::uint32_t piece, std::uint32_t of) {
  INFO(to_string(plan) << ", rank " << victim << " is killed with piece " << piece);
  process_cluster c(n);
  const report r = c.ask(0, spread(c, plan, mishap::die, victim, piece, of));
  INFO(r.text);
  CHECK_FALSE(r.ok);
  for (std::uint32_t i = 0; i < n; ++i) {
    INFO("rank " << i);
    if (!below(i, victim)) CHECK(to_string(r.states[i]) == to_string(member_state::merged));
  }
  CHECK(to_string(r.states[victim]) == to_string(member_state::unknown));
  CHECK(r.value <= n - 1);
  c.kill(victim);  // it is dead, and is only reaped here
  order again = c.broadcast_to_running(binomial);
  again.what = order::kind::spread;
  again.object_bytes = 3 * test::depot::piece_bytes;
  CHECK(c.ask(0, again).ok);
  c.quit_all();
}

/// The root is killed when it has handed out a certain piece to itself. The others get their places back, and the
/// next one to spread an object reaches them all.
void kill_root(const bulk_plan& plan, std::uint32_t piece, std::uint32_t of) {
  INFO(to_string(plan) << ", the root is killed with piece " << piece);
  process_cluster c(n);
  c.send(0, spread(c, plan, mishap::die, 0, piece, of));
  CHECK_THROWS(c.next(0, report::kind::result));  // it is gone
  c.kill(0);                                      // and is only reaped here
  std::uint32_t given = 0;
  order places;
  places.what = order::kind::await_places;
  for (std::uint32_t i = 1; i < n; ++i) given += c.ask(i, places).value;
  CHECK(given > 0);
  order again = c.broadcast_to_running(binomial);
  again.what = order::kind::spread;
  again.object_bytes = 3 * test::depot::piece_bytes;
  const report r = c.ask(1, again);
  INFO(r.text);
  CHECK(r.ok);
  CHECK(r.value == n - 1);
  given = 0;
  for (std::uint32_t i = 1; i < n; ++i) given += c.ask(i, places).value;
  CHECK(given >= n - 2);
  c.quit_all();
}

}  // namespace

TEST_CASE("an object reaches eight processes by every plan", "[process][bulk]") {
  process_cluster c(n);
  for (const bulk_plan& plan : plans) {
    const report r = c.ask(0, spread(c, plan));
    INFO(to_string(plan) << ": " << r.text);
    CHECK(r.ok);
    CHECK(r.value == n);
  }
  c.quit_all();
}

TEST_CASE("a member that is killed with some of the bytes takes nobody with it but those below it",
          "[process][bulk]") {
  for (std::uint32_t victim = 1; victim < n; ++victim)
    kill_one(plans[1 + victim % 4], victim, victim * 23 % pieces, pieces);
}

TEST_CASE("when the root is killed in the middle of the bytes, every place comes back", "[process][bulk]") {
  for (std::size_t i = 0; i < plans.size(); ++i)
    kill_root(plans[i], static_cast<std::uint32_t>(i * 3), pieces);
}

TEST_CASE("each member is killed at ten moments of 64 MiB, by each plan", "[.long]") {
  for (const bulk_plan& plan : plans) {
    DYNAMIC_SECTION(to_string(plan)) {
      for (std::uint32_t victim = 1; victim < n; ++victim) {
        for (std::uint32_t moment = 0; moment < 10; ++moment) kill_one(plan, victim, moment * 7, 64);
      }
      for (std::uint32_t moment = 0; moment < 10; ++moment) kill_root(plan, moment * 7, 64);
    }
  }
}

TEST_CASE("a member that is stopped for two seconds is slow, not lost", "[process][bulk]") {
  process_cluster c(n);
  for (const bulk_plan& plan : {bulk_plan::chain(), bulk_plan::circulant()}) {
    c.send(0, spread(c, plan, mishap::stop, 4, 5));
    static_cast<void>(c.next(4, report::kind::stopping));
    usleep(2'000'000);  // the fault itself, which has no end that could be waited for
    c.signal(4, SIGCONT);
    const report r = c.next(0, report::kind::result);
    INFO(to_string(plan) << ": " << r.text);
    CHECK(r.ok);
    CHECK(r.value == n);
  }
  c.quit_all();
}

TEST_CASE("connections that break in the middle of the bytes cost nobody anything", "[process][bulk]") {
  process_cluster c(n);
  for (const bulk_plan& plan : plans) {
    for (const std::uint32_t victim : {1U, 4U}) {
      const report r = c.ask(0, spread(c, plan, mishap::reset, victim, 7));
      INFO(to_string(plan) << ", of rank " << victim << ": " << r.text);
      CHECK(r.ok);
      CHECK(r.value == n);
    }
  }
  c.quit_all();
}

TEST_CASE("a byte that changes in a member's memory is found by those who get it", "[process][bulk]") {
  process_cluster c(n);
  // Member 1 fails because its own bytes are wrong. The others find that out, and get the piece from above.
  const report member = c.ask(0, spread(c, bulk_plan::chain(), mishap::alter, 1, 11));
  INFO(member.text);
  CHECK(member.value == n - 1);
  CHECK(to_string(member.states[1]) == to_string(member_state::failed));
  CHECK(member.phases[1] == phase::execute);
  c.quit_all();
}
