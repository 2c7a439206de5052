#include "scoll/node_control/rails.hpp"

#include <algorithm>
#include <map>

#include "scoll/bulk/bulk.hpp"
#include "scoll/collective/bcast.hpp"
#include "scoll/ship/ship.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/node/rail_cluster.hpp"
#include "tests/support/bytes.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using test::rail_cluster;

namespace {

constexpr remote_function<std::uint64_t, std::uint64_t> twice_wide{"test.twice"};

/// Notes which request it has seen how often.
struct tally {
  static constexpr service_id id{0x0100};
  struct request {
    std::uint64_t number;
  };
  using reply = sum<std::uint64_t>;
  std::map<std::uint64_t, int>* seen;
  reply execute(const request& r, bcast_context&) const {
    ++(*seen)[r.number];
    return {1};
  }
};

constexpr std::size_t enough = 4;  // kills of connections

/// Counts what was done and what was answered as it should be.
struct score {
  std::uint64_t done = 0, good = 0;
};

/// Calls until enough connections have been killed.
task<score> call_often(rail_cluster& c, node_id from, node_id to) {
  score s;
  for (; c.kills < enough || s.done % 1000 != 0; ++s.done) {
    const auto answer = co_await ship(c[from], to, twice_wide, s.done);
    s.good += answer.has_value() && *answer == 2 * s.done ? 1U : 0U;
  }
  co_return s;
}

task<bool> call_once(rail_cluster& c) {
  const auto answer = co_await ship(c[1], 2, twice_wide, std::uint64_t{1});
  co_return answer.has_value();
}

task<score> broadcast_often(rail_cluster& c, const group<tally>& to) {
  score s;
  for (; c.kills < enough || s.done % 1000 != 0; ++s.done) {
    const tally::request r{s.done};
    auto answer = co_await bcast(to, r);
    s.good += answer.ok() && answer->value == 3 ? 1U : 0U;
  }
  co_return s;
}

task<score> pull_often(rail_cluster& c, region_descriptor from, std::span<const std::byte> expected) {
  score s;
  for (; c.kills < enough; ++s.done) {
    std::vector<std::byte> into(expected.size());
    const status pulled = co_await pull(c[1], from, 0, std::span(into), transfer_options{});
    s.good += pulled && test::same(into, expected) ? 1U : 0U;
  }
  co_return s;
}

void check_clean(rail_cluster& c, node_id count) {
  for (node_id id = 1; id <= count; ++id) {
    CHECK(c[id].wire().statistics().sessions_lost == 0);
    CHECK(c[id].wire().statistics().links_broken == 0);
    CHECK(c[id].event_count(node_event_kind::session_lost) == 0);
  }
}

}  // namespace

TEST_CASE("calls between nodes go on while the connections of either rail are killed", "[tcp]") {
  rail_cluster c(2);
  std::map<std::uint64_t, int> seen;
  auto served = c[2].serve(twice_wide, [&seen](const std::uint64_t& in, call_context&) {
    ++seen[in];
    return in * 2;
  });
  REQUIRE(served.has_value());
  const score s = c.run_while_killing(call_often(c, 1, 2), 5ms);
  CHECK(s.good == s.done);
  CHECK(seen.size() == s.done);
  for (const auto& [number, times] : seen) CHECK(times == 1);
  check_clean(c, 2);
}

TEST_CASE("broadcasts to a group go on while the connections of either rail are killed", "[tcp]") {
  rail_cluster c(3);
  std::map<std::uint64_t, int> seen;
  for (const node_id id : {1U, 2U, 3U}) REQUIRE(c[id].serve(tally{&seen}).has_value());
  const auto targets = c.targets();
  auto group = c.run(c[1].create_group<tally>(targets, {.tree = chain{}}));
  REQUIRE(group.has_value());
  const score s = c.run_while_killing(broadcast_often(c, *group), 5ms);
  CHECK(s.good == s.done);
  CHECK(seen.size() == s.done);
  for (const auto& [number, times] : seen) CHECK(times == 3);
  check_clean(c, 3);
  CHECK(c.run(c[1].destroy(*group)).has_value());
}

TEST_CASE("pulls between nodes go on while the connections of either rail are killed", "[tcp]") {
  rail_cluster c(2);
  const auto source = test::made(64U << 20U, 1);
  auto region = expose(c[2], std::span(source));
  REQUIRE(region.has_value());
  const score s = c.run_while_killing(pull_often(c, region->descriptor(), source), 4ms);
  CHECK(s.good == s.done);
  check_clean(c, 2);
}

TEST_CASE("a node tells of its rails, and of the path that has died, and why", "[tcp]") {
  rail_cluster c(2);
  REQUIRE(c[2].serve(twice_wide, [](const std::uint64_t& in, call_context&) { return in * 2; }).has_value());
  const auto all_up = [&] {
    const auto rails = c[1].rails();
    return rails[0].state == "up" && rails[1].state == "up";
  };
  CHECK(c[1].rails()[0].state == "idle");
  REQUIRE(c.run(call_once(c)));
  REQUIRE(c.surroundings().until(all_up));
  CHECK(c[1].rails()[1].name == "b");
  CHECK(c[1].rails()[1].address.starts_with("127.21.0.1:"));
  CHECK(c[1].rails()[1].peers == 1);
  CHECK(c[1].paths(2).size() == 4);
  CHECK(c[1].paths(7).empty());
  CHECK(c[1].paths(2)[0].carries);
  REQUIRE(rail_cluster::kill(0) > 0);
  const auto died = [&] { return c[1].event_count(node_event_kind::messages_moved) == 1; };
  REQUIRE(c.surroundings().until(died));
  const auto events = c[1].events();
  const auto dead = std::ranges::find(events, node_event_kind::path_dead, &node_event::kind);
  REQUIRE(dead != events.end());
  CHECK(dead->peer == 2);
  CHECK(dead->level == log_level::warning);
  CHECK_THAT(dead->text, Catch::StartsWith("the path to node 2 by rail a to 127.20.0.2:"));
  const auto moved = std::ranges::find(events, node_event_kind::messages_moved, &node_event::kind);
  REQUIRE(moved != events.end());
  CHECK_THAT(moved->text, Catch::StartsWith("messages of node 1 to node 2 now go by rail b to 127.21.0.2:"));
  CHECK_THAT(moved->text, Catch::Contains(", not by rail a to 127.20.0.2:"));
  CHECK(c[1].paths(2)[0].deaths == 1);
  CHECK_FALSE(c[1].paths(2)[0].carries);
  CHECK(c[1].paths(2)[0].why);
  for (int i = 0; i < 500 && !c[1].paths(2)[0].carries; ++i) {  // a path proves itself while it is needed
    REQUIRE(c.run(call_once(c)));
    c.surroundings().pass(20ms);
  }
  CHECK(c[1].paths(2)[0].carries);
  CHECK(c[1].event_count(node_event_kind::path_good) >= 1);
  CHECK(c[1].event_count(node_event_kind::messages_moved) >= 2);
}

TEST_CASE("a node with rails that say nowhere to listen is told so", "[reactor]") {
  test::tcp_world w(test::tcp_world::family::v4);
  transport::tcp_rail first(w.loop());
  transport::rail_set rails;
  rails.add("a", first).value();
  node_options options;
  options.id = 1;
  node one(w.ex(), rails, options);
  const status listening = one.listen();
  REQUIRE_FALSE(listening.has_value());
  CHECK(listening.error() == errc::invalid_argument);
  CHECK_THAT(std::string(listening.error().text()), Catch::Contains("no rail says where to listen"));
  CHECK(one.listen("127.20.0.1:0").has_value());
  CHECK(one.listen_address().starts_with("127.20.0.1:"));
  sync_wait(w.loop(), one.shutdown(1s)).ignore();
}

TEST_CASE("an error of listening names the rail", "[reactor]") {
  test::tcp_world w(test::tcp_world::family::v4);
  transport::tcp_rail first(w.loop());
  transport::tcp_rail second(w.loop(), transport::tcp_options{.device = "nosuch0"});
  transport::rail_set rails;
  rails.add("front", first, {.listen = "127.20.0.1:0"}).value();
  rails.add("back", second, {.listen = "127.21.0.1:0"}).value();
  node_options options;
  options.id = 1;
  node one(w.ex(), rails, options);
  const status listening = one.listen();
  REQUIRE_FALSE(listening.has_value());
  CHECK_THAT(std::string(listening.error().text()),
             Catch::Contains("rail back") && Catch::Contains("nosuch0"));
  sync_wait(w.loop(), one.shutdown(1s)).ignore();
}

TEST_CASE("addresses in another order than the peer's rails are told in an event and by explain") {
  rail_cluster c(2);
  c.cross(1, 2);
  REQUIRE(c[2].serve(twice_wide, [](const std::uint64_t& in, call_context&) { return in * 2; }).has_value());
  REQUIRE(c.run(call_once(c)));
  REQUIRE(c.surroundings().until([&] { return c[1].event_count(node_event_kind::path_crossed) != 0; }));
  CHECK(c[2].event_count(node_event_kind::path_crossed) == 0);
  const std::vector<node_event> events = c[1].events();
  const auto told = std::ranges::find(events, node_event_kind::path_crossed, &node_event::kind);
  REQUIRE(told != events.end());
  CHECK_THAT(told->text,
             Catch::Contains("is crossed: its connections arrive at rail 1 of the peer, not at rail 2"));
  const std::vector<std::string> said = scoll::detail::explain_paths(1, 2, c[1].paths(2));
  CHECK(std::ranges::any_of(said, [](const std::string& each) {
    return each.find("arrive at rail 1 of the peer, not at rail 2") != std::string::npos;
  }));
}
