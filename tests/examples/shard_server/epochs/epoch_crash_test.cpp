#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <vector>

#include "epoch_world.hpp"
#include "long_tests.hpp"
#include "tests/catch.hpp"

using namespace std::chrono_literals;
using shard_tests::epoch_bug;
using shard_tests::epoch_crash;
using shard_tests::epoch_world;
using shard_tests::is_long;

// Servers lose their power at every operation of their disks and at every message while they decide epochs.
namespace {

/// What has happened in many runs.
struct tally {
  std::uint64_t runs = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t unanswered_and_decided = 0;
  std::uint64_t unanswered_and_gone = 0;
  std::uint64_t faulty = 0;
  std::string first_faults;
  std::map<epoch_crash, std::uint64_t> crashes;  // how often each planned one has happened

  void plan(const std::vector<epoch_crash>& planned) {
    for (const epoch_crash& each : planned) crashes.emplace(each, 0);
  }
  void add(epoch_world& w) {
    auto& h = w.history();
    ++runs;
    for (const epoch_crash& each : w.happened()) ++crashes[each];
    acknowledged += h.acknowledged();
    unanswered_and_decided += h.epochs() - h.acknowledged();
    unanswered_and_gone += h.requests() - h.epochs();
    faulty += h.faults().empty() ? 0U : 1U;
    if (first_faults.empty()) first_faults = fmt::format("{}", fmt::join(h.faults(), "\n"));
  }
};

/// Two servers ask for epochs at the same time, and lose their power as planned. They come back, once while the
/// others run and once when all have lost their power.
void decide(epoch_world& w, const std::vector<epoch_crash>& crashes) {
  for (const epoch_crash& each : crashes) w.plan(each);
  w.start_all();
  w.run_for(500ms);
  w.commit(0, {"a", "b"});
  w.commit(1, {"c"});
  w.run_for(3s);
  w.end();
  for (std::uint32_t i = 0; i != w.size(); ++i) w.power_off(i);
  w.end();
}

void run_one(tally& all, std::uint64_t seed, const std::vector<epoch_crash>& crashes,
             epoch_bug bug = epoch_bug::none) {
  epoch_world w(3, seed, bug);
  all.plan(crashes);
  decide(w, crashes);
  all.add(w);
}

/// Servers lose their power or are cut off and come back, messages are lost or come late, and clients ask, all
/// at random.
void run_storm(tally& all, std::uint64_t seed, epoch_bug bug = epoch_bug::none) {
  epoch_world w(5, seed, bug);
  w.start_all();
  w.disturb();
  for (int step = 0; step != 60; ++step) {
    const auto server = static_cast<std::uint32_t>(w.random().below(5));
    const std::uint64_t what = w.random().below(12);
    if (what < 6) w.commit(server, {fmt::format("{}", step)});
    if (what == 6 || what == 7) w.power_off(server);
    if (what == 8) w.start_all();
    if (what == 9 && !w.runs(server)) w.start(server);
    if (what == 10) w.cut_off(server);
    if (what == 11) w.bring_back(server);
    w.run_for(
        scoll::nanoseconds(static_cast<std::int64_t>(w.random().below(what < 4 ? 2'000'000 : 200'000'000))));
  }
  w.end();
  all.add(w);
}

/// The length of a run without a crash.
struct measure {
  std::vector<std::uint64_t> operations;
  std::uint64_t messages = 0;
};
measure measure_run(std::uint64_t seed) {
  epoch_world w(3, seed);
  w.start_all();
  w.run_for(500ms);
  w.commit(0, {"a", "b"});
  w.commit(1, {"c"});
  w.run_for(3s);
  measure m;
  for (std::uint32_t i = 0; i != 3; ++i) m.operations.push_back(w.operations(i));
  m.messages = w.messages();
  REQUIRE(w.history().acknowledged() == 3);
  return m;
}

void check(const tally& all) {
  INFO(all.first_faults);
  REQUIRE(all.faulty == 0);
  REQUIRE(all.acknowledged > 0);
  for (const auto& [crash, times] : all.crashes) {
    INFO(fmt::format("server {}, life {}, operation {}, message {}", crash.server, crash.life,
                     crash.operation, crash.message));
    CHECK(times > 0);
  }
  if (is_long())
    WARN(all.runs << " runs, " << all.acknowledged << " epochs acknowledged; of the others "
                  << all.unanswered_and_decided << " were decided and " << all.unanswered_and_gone
                  << " were not");
}

}  // namespace

TEST_CASE("servers decide one epoch after the other, and all come to stand at the last", "[epochs]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    INFO("seed " << seed);
    epoch_world w(5, seed);
    w.start_all();
    w.run_for(500ms);
    for (std::uint32_t i = 0; i != 5; ++i) w.commit(i, {fmt::format("{}", i)});
    w.run_for(3s);
    CHECK(w.history().acknowledged() == 5);
    for (std::uint32_t i = 0; i != 5; ++i) {
      CHECK(w.state(i).committed.epoch == 5);
      CHECK_FALSE(w.state(i).vote.has_value());
    }
    w.end();
    CHECK(w.history().faults().empty());
  }
}

TEST_CASE("a server that was held dead without noticing it comes to stand where the others do", "[epochs]") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    INFO("seed " << seed);
    epoch_world w(3, seed);
    w.start_all();
    w.run_for(500ms);
    w.cut_off(2);
    w.commit(0, {"a"});
    w.run_for(2s);
    REQUIRE(w.history().acknowledged() == 1);
    REQUIRE(w.state(2).committed.epoch == 0);
    w.bring_back(2);
    w.run_for(2s);
    REQUIRE(w.state(2).committed.epoch == 1);
  }
}

TEST_CASE("a server whose disk refuses for long keeps no other from what is decided", "[epochs]") {
  for (std::uint64_t message = 1; message <= 80; ++message) {
    INFO("message " << message);
    epoch_world w(5, message);
    w.start_all();
    w.run_for(500ms);
    w.refuse_writes(4);
    for (std::uint32_t i = 0; i != 5; ++i) {  // each of them tries to tell server 4
      w.commit(i, {fmt::format("{}", i)});
      w.run_for(1s);
    }
    REQUIRE(w.history().acknowledged() == 5);
    w.plan({0, 0, w.messages() + message});
    w.commit(0, {"by a server that loses its power"});
    w.run_for(10s);
    REQUIRE(w.state(4).committed.epoch == 0);
    for (std::uint32_t i = 1; i != 4; ++i) {
      REQUIRE_FALSE(w.state(i).vote.has_value());
      REQUIRE(w.state(i).committed == w.state(1).committed);
    }
    w.heal(4);
    w.run_for(5s);
    REQUIRE(w.state(4).committed == w.state(1).committed);
    w.end();
    REQUIRE(w.history().faults().empty());
  }
}

TEST_CASE("a server that loses its power at any operation of its disk loses no epoch", "[epochs]") {
  tally all;
  for (std::uint64_t seed = 1; seed <= (is_long() ? 50 : 5); ++seed) {
    const measure m = measure_run(seed);
    for (std::uint32_t server = 0; server != 3; ++server) {
      for (std::uint64_t at = 1; at <= m.operations[server]; ++at) run_one(all, seed, {{server, at, 0}});
    }
  }
  check(all);
  CHECK(all.unanswered_and_decided > 0);
  CHECK(all.unanswered_and_gone > 0);
}

TEST_CASE("two servers that lose their power at any operations of their disks lose no epoch", "[epochs]") {
  tally all;
  for (std::uint64_t seed = 4; seed <= (is_long() ? 8 : 4); ++seed) {
    const measure m = measure_run(seed);
    for (std::uint32_t server = 0; server != 3; ++server) {
      const std::uint32_t other = (server + 1) % 3;
      for (std::uint64_t at = 1; at <= m.operations[server]; ++at) {
        for (std::uint64_t then = 1; then <= m.operations[other]; ++then)
          run_one(all, seed, {{server, at, 0}, {other, then, 0}});
      }
    }
  }
  check(all);
  CHECK(all.unanswered_and_gone > 0);
}

TEST_CASE("a server that loses its power once more while it recovers loses no epoch", "[epochs]") {
  tally all;
  constexpr std::uint64_t of_a_recovery = 12;
  for (std::uint64_t seed = 1; seed <= (is_long() ? 10 : 1); ++seed) {
    const measure m = measure_run(seed);
    for (std::uint32_t server = 0; server != 3; ++server) {
      for (std::uint64_t at = 1; at <= m.operations[server]; ++at) {
        for (std::uint64_t then = 1; then <= of_a_recovery; ++then)
          run_one(all, seed, {{server, at, 0}, {server, then, 0, 2}});
      }
    }
  }
  check(all);
}

TEST_CASE("servers that lose their power at any message lose no epoch", "[epochs]") {
  tally all;
  for (std::uint64_t seed = 1; seed <= (is_long() ? 20 : 3); ++seed) {
    const std::uint64_t messages = measure_run(seed).messages;
    REQUIRE(messages > 50);
    for (std::uint64_t at = 1; at <= messages; ++at) {
      const epoch_crash first{0, 0, at}, second{1, 0, at}, third{2, 0, at};
      run_one(all, seed, {first});
      run_one(all, seed, {second});
      run_one(all, seed, {third});
      run_one(all, seed, {first, second});
      run_one(all, seed, {first, third});
      run_one(all, seed, {second, third});
      run_one(all, seed, {first, second, third});
    }
  }
  check(all);
  CHECK(all.unanswered_and_decided > 0);
  CHECK(all.unanswered_and_gone > 0);
}

TEST_CASE("servers that come and go at random lose no epoch", "[epochs]") {
  tally all;
  for (std::uint64_t seed = 1; seed <= (is_long() ? 10'000 : 300); ++seed) run_storm(all, seed);
  check(all);
  CHECK(all.acknowledged > 1000);
}

TEST_CASE("the checks find deliberate bugs of the epochs", "[epochs]") {
  const auto is_found = [](epoch_bug bug) {
    tally all;
    const std::uint64_t messages = measure_run(1).messages;
    for (std::uint64_t at = 1; at <= messages && all.faulty == 0; ++at)
      run_one(all, 1, {{0, 0, at}, {1, 0, at}, {2, 0, at}}, bug);
    for (std::uint64_t seed = 1; seed <= 100 && all.faulty == 0; ++seed) run_storm(all, seed, bug);
    return all.faulty != 0;
  };
  CHECK_FALSE(is_found(epoch_bug::none));
  CHECK(is_found(epoch_bug::not_synced));
  CHECK(is_found(epoch_bug::minority));
  CHECK(is_found(epoch_bug::votes_are_lost));
  CHECK(is_found(epoch_bug::promises_ignored));
}
