#include <set>

#include "cores.hpp"

using namespace cores;

// Participants with several addresses: which rail carries what, and what a dead rail costs.

namespace {

struct totals {
  explicit totals(const cluster& c) {
    for (const auto& s : c.all) {
      if (!s) continue;
      const counters& counts = s->protocol.counts();
      cycles += counts.cycles;
      pings += counts.pings;
      retries += counts.retries;
      silent += counts.cycles_without_reply;
      sent += counts.messages_sent;
      deaths += counts.dead_events;
    }
  }
  std::uint64_t cycles = 0, pings = 0, retries = 0, silent = 0, sent = 0, deaths = 0;
};

}  // namespace

TEST_CASE("healthy rails carry as many messages as one does") {
  cluster one(12);
  cluster two(shared_on_rails(12, 2));
  std::set<rail_index> used;
  two.tap = [&](participant_index, const sent& m) { used.insert(m.via.own); };
  one.run(100);
  two.run(100);
  CHECK(totals(one).sent == totals(two).sent);
  CHECK(totals(two).retries == 0);
  CHECK(totals(two).silent == 0);
  CHECK(used == std::set<rail_index>{0, 1});  // one ping in eight takes another rail
}

TEST_CASE("with a switch dead, each cycle is answered by its first retry") {
  for (const std::uint32_t rails : {2U, 3U}) {
    for (rail_index dead = 0; dead < rails; ++dead) {
      cluster c(shared_on_rails(12, rails));
      c.run(40);
      c.cut = [dead](participant_index, rail_index rail) { return rail == dead; };
      const totals before(c);
      c.run(300);
      const totals after(c);
      const std::uint64_t cycles = after.cycles - before.cycles;
      CHECK(after.silent == before.silent);
      CHECK(after.pings - before.pings == cycles);
      // One ping in eight takes the dead rail, and each participant had to find out once.
      CHECK(after.retries - before.retries <= cycles / 8 * 13 / 10 + 12);
      CHECK(after.deaths == 0);
      for (const auto& s : c.all) CHECK(s->protocol.rail() != dead);
    }
  }
}

TEST_CASE("a rail that is dead at one participant costs it nothing but retries") {
  cluster c(shared_on_rails(8, 2));
  c.run(40);
  c.cut = [](participant_index who, rail_index rail) { return who == 3 && rail == 0; };
  c.run(300);
  CHECK(totals(c).deaths == 0);
  for (participant_index i = 0; i < 8; ++i) CHECK(c.all[0]->protocol.state(i) == liveness::alive);
}

TEST_CASE("a participant of which both rails are dead is dead in time") {
  cluster c(shared_on_rails(8, 2));
  c.run(60);
  c.cut = [](participant_index who, rail_index) { return who == 3; };
  const std::uint32_t threshold = c.all[0]->protocol.threshold();
  c.run(static_cast<int>(threshold) - 2);
  CHECK(totals(c).deaths == 0);
  c.run(6);
  for (const auto& s : c.all) {
    if (s->index != 3) CHECK(s->protocol.state(3) == liveness::dead);
  }
  CHECK(c.all[3]->protocol.counts().dead_events == 0);  // it hears nobody, so it judges nobody
}

TEST_CASE("a reply takes the way of its ping") {
  const auto shared = shared_on_rails(4, 2);
  station s(shared, 0, plain_options());
  const auto ask = [&](std::uint64_t sequence, way via) {
    s.out.clear();
    s.protocol.on_message(2, message(*shared, 0, head(2, sequence, 1), {0, 0, 0, 0}), time_point(), via);
    REQUIRE(s.out.size() == 1);
    CHECK(s.out[0].to == 2);
    CHECK(s.out[0].via.own == via.own);
    CHECK(s.out[0].via.other == via.other);
  };
  ask(1, {0, 0});
  ask(2, {1, 1});
  ask(3, {0, 1});  // crossed wires
}

TEST_CASE("participants with fewer addresses are reached on those that they have") {
  const auto shared =
      configuration::of_entries({{1, {"a:1", "b:1"}}, {2, {"a:2"}}, {3, {"a:3", "b:3", "c:3"}}}, interval)
          .value();
  cluster c(shared);
  std::set<std::pair<participant_index, rail_index>> used;
  c.tap = [&](participant_index from, const sent& m) {
    CHECK(m.via.own < shared->addresses(from).size());
    CHECK(m.via.other < shared->addresses(m.to).size());
    CHECK(m.via.own == m.via.other);
    used.insert({from, m.via.own});
  };
  c.run(200);
  CHECK(used.contains({0, 1}));
  CHECK_FALSE(used.contains({1, 1}));
  CHECK(totals(c).silent == 0);
  for (const auto& s : c.all) CHECK(s->protocol.take_snapshot().alive == 2);
}

TEST_CASE("a message is good for its receiver on all rails, and for nobody else") {
  for (const bool sealed : {false, true}) {
    cluster c(shared_on_rails(4, 2), plain_options(), sealed);
    c.run(20);
    std::vector<sent> pings;
    c.tap = [&](participant_index from, const sent& m) {
      if (from == 1 && m.to == 0) pings.push_back(m);
    };
    c.lose = [](participant_index from, participant_index) { return from == 1; };
    for (int i = 0; i < 40 && pings.size() < 3; ++i) c.run(1);
    c.tap = {};
    REQUIRE(pings.size() >= 2);
    core& target = c.all[0]->protocol;
    const std::uint64_t merged = target.counts().merged;
    target.on_message(1, pings.back().message, c.now, {1, 1});
    CHECK(target.counts().merged == merged + 1);
    core& other = c.all[2]->protocol;
    const state before(other);
    other.on_message(1, pings.back().message, c.now, {1, 1});
    CHECK(state(other) == before);
    target.on_message(1, pings.back().message, c.now, {0, 0});  // the same by another rail
    CHECK(target.counts().merged == merged + 1);
    CHECK(target.counts().repeated > 0);
  }
}

TEST_CASE("a message of one participant from the address of another changes nothing") {
  const auto shared = shared_on_rails(4, 2);
  station s(shared, 0, plain_options());
  const bytes of_two = message(*shared, 0, head(2, 1, 1), {0, 0, 0, 0});
  const state before(s.protocol);
  for (const way via : {way{0, 0}, way{1, 1}}) {
    s.protocol.on_message(1, of_two, time_point(), via);
    s.protocol.on_message(3, of_two, time_point(), via);
  }
  CHECK(state(s.protocol) == before);
  CHECK(s.protocol.counts().malformed == 4);
  CHECK(s.out.empty());
  s.protocol.on_message(2, of_two, time_point(), {1, 1});
  CHECK(s.protocol.counts().merged == 1);
}
