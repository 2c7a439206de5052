#include "cores.hpp"

using namespace cores;

// What is heard of a participant by other means than the gossip.

TEST_CASE("a participant that is heard otherwise stays alive for all, as long as that lasts") {
  cluster c(8);
  c.run(40);
  c.lose = [](participant_index from, participant_index to) { return from == 3 || to == 3; };
  for (int cycle = 0; cycle < 60; ++cycle) {
    c.run(1);
    c.all[0]->protocol.on_heard(3, 1);
  }
  for (const auto& s : c.all) {
    if (s->index == 3) continue;
    CHECK(s->protocol.state(3) == liveness::alive);
    CHECK(s->protocol.counts().dead_events == 0);
  }
  CHECK(c.all[0]->protocol.counts().heard_elsewhere == 60);
  CHECK(c.all[0]->protocol.explain(3).last_direct != verdict::never);
  c.run(static_cast<int>(c.all[0]->protocol.threshold()) + 4);
  for (const auto& s : c.all) {
    if (s->index != 3) CHECK(s->protocol.state(3) == liveness::dead);
  }
}

TEST_CASE("a new incarnation that is heard otherwise is news, and an old one is nothing") {
  cluster c(8);
  c.run(40);
  core& one = c.all[0]->protocol;
  const state before(one);
  one.on_heard(3, 0);
  one.on_heard(0, 7);  // this participant itself
  one.on_heard(8, 1);  // there is none
  CHECK(state(one) == before);
  CHECK(one.counts().heard_elsewhere == 0);
  one.on_heard(3, 5);
  CHECK(one.incarnation(3) == 5);
  REQUIRE_FALSE(c.all[0]->events.empty());
  CHECK(c.all[0]->events.back().kind == event_kind::rebooted);
  CHECK(c.all[0]->events.back().incarnation == 5);
  const state after(one);
  one.on_heard(3, 4);
  CHECK(state(one) == after);
  CHECK(one.counts().heard_elsewhere == 1);
}

TEST_CASE("a participant that is held dead is alive again when it is heard otherwise") {
  cluster c(8);
  c.run(40);
  c.kill(3);
  c.run(40);
  core& one = c.all[0]->protocol;
  REQUIRE(one.state(3) == liveness::dead);
  one.on_heard(3, 1);
  c.run(2);
  CHECK(one.state(3) == liveness::alive);
  CHECK(one.reach(3) != reachability::untried);
}
