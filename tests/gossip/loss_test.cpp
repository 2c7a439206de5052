#include <algorithm>

#include "cores.hpp"
#include "gossip/liveness/loss_estimate.hpp"

using namespace cores;

namespace {

/// The last contact with every participant: cycle 0 for `unheard`, just now for `heard`.
std::uint64_t unheard(participant_index) {
  return 0;
}
std::uint64_t heard(participant_index) {
  return 1'000'000;
}

constexpr std::uint64_t patience = 22;

}  // namespace

TEST_CASE("a loss is that of one way, from exchanges that both ways are needed for") {
  loss_estimate e;
  CHECK(e.own() == 0);
  for (std::uint64_t i = 1; i <= 64; ++i) {
    e.sent(1, i, 10);
    if (i <= 41) CHECK(e.answered(i));
  }
  e.conclude(12, patience, heard);
  CHECK(e.own() == Approx(0.2).margin(0.005));
  CHECK(e.value() == e.own());
  for (std::uint64_t i = 101; i <= 164; ++i) {
    e.sent(1, i, 20);
    CHECK(e.answered(i));
  }
  CHECK(e.own() == 0);
}

TEST_CASE("one lost message is no loss of one half") {
  loss_estimate e;
  e.sent(1, 1, 10);
  e.conclude(12, patience, heard);
  CHECK(e.own() > 0);
  CHECK(e.own() < 0.02);
}

TEST_CASE("only who turns out to live has lost a message") {
  loss_estimate e;
  for (std::uint64_t i = 1; i <= 20; ++i) e.sent(1, i, 10);
  e.conclude(11, patience, heard);  // it may still be under way
  CHECK(e.own() == 0);
  CHECK(e.answered(1));
  e.conclude(12, patience, unheard);
  CHECK(e.answered(2));
  e.conclude(10 + patience + 1, patience, unheard);  // given up
  CHECK_FALSE(e.answered(3));
  e.conclude(10 + patience + 2, patience, heard);
  CHECK(e.own() == 0);
}

TEST_CASE("an answer counts once, for a ping that is waited for") {
  loss_estimate e;
  CHECK_FALSE(e.answered(0));
  CHECK_FALSE(e.answered(7));
  e.sent(1, 7, 10);
  CHECK(e.answered(7));
  CHECK_FALSE(e.answered(7));
  e.sent(1, 8, 10);
  e.conclude(12, patience, heard);
  CHECK_FALSE(e.answered(8));  // too late: it counts as lost
  for (std::uint64_t i = 100; i <= 164; ++i) e.sent(1, i, 20);
  CHECK_FALSE(e.answered(100));  // displaced
  CHECK(e.answered(101));
}

TEST_CASE("others' estimates count on average, if they are worse") {
  loss_estimate e;
  e.others_say(0.4);
  CHECK(e.value() > 0);
  CHECK(e.value() < 0.05);
  for (int i = 0; i < 200; ++i) e.others_say(0.4);
  CHECK(e.value() == Approx(0.4).margin(0.01));
  CHECK(e.own() == 0);
  for (int i = 0; i < 200; ++i) e.others_say(0);
  CHECK(e.value() < 0.01);
}

TEST_CASE("loss raises the threshold before anybody errs, and calm lowers it slowly") {
  options o = plain_options();
  o.retries = 0;
  cluster c(16, o);
  c.run(40);
  const std::uint32_t initial = c.all[0]->protocol.threshold();
  for (const auto& s : c.all) REQUIRE(s->protocol.threshold() == initial);

  random_generator random(20);
  c.lose = [&](participant_index, participant_index) { return random.chance(1, 5); };
  std::vector<std::uint32_t> highest(16, 0);
  for (int cycle = 0; cycle < 600; ++cycle) {
    c.run(1);
    for (std::size_t i = 0; i < 16; ++i) highest[i] = std::max(highest[i], c.all[i]->protocol.threshold());
    if (cycle == 100) {
      for (const auto& s : c.all) CHECK(s->protocol.threshold() > initial);
    }
  }
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(highest[i] >= initial + 4);
    CHECK(highest[i] <= initial + 20);
    CHECK(c.all[i]->events.size() == 15);
    CHECK(c.all[i]->protocol.counts().dead_events == 0);
  }

  c.lose = {};
  std::vector<std::uint32_t> last(16);
  std::vector<int> fell_at(16, -1000);
  for (std::size_t i = 0; i < 16; ++i) last[i] = c.all[i]->protocol.threshold();
  for (int cycle = 0; cycle < 1200; ++cycle) {
    c.run(1);
    for (std::size_t i = 0; i < 16; ++i) {
      const std::uint32_t now = c.all[i]->protocol.threshold();
      if (now < last[i]) {
        REQUIRE(now + 1 == last[i]);
        REQUIRE(cycle - fell_at[i] >= 31);  // ticks and these cycles may be one apart
        fell_at[i] = cycle;
      }
      last[i] = now;
    }
  }
  for (const auto& s : c.all) {
    CHECK(s->protocol.threshold() == initial);
    CHECK(s->protocol.counts().dead_events == 0);
  }
}
