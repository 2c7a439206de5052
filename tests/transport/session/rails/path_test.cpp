#include "transport/session/rails/path.hpp"

#include <chrono>

#include "tests/catch.hpp"

// The health of a path, as it is told of suspicions, deaths and answers.
using namespace scoll;
using namespace scoll::transport;
using namespace std::chrono_literals;

namespace {

constexpr nanoseconds prove = 1s;
const error silent(errc::connection_lost, "silent");

/// A path that was good and has died at `now`.
path dead_at(time_point now) {
  path p({0, 0}, 0, true);
  p.came_up(now - 1s);
  p.died(now, prove, silent);
  return p;
}

/// Answers as often as a path that proves itself is probed. Returns how long it took to be good again.
nanoseconds proves(path& p, time_point& now) {
  const time_point began = now;
  while (p.health() != path_health::good && now - began < 100s) p.answered(now += 100ms);
  return now - began;
}

}  // namespace

TEST_CASE("a path is trusted at its first connection, and has to prove itself after a death") {
  time_point now{100s};
  path p({1, 2}, 3, true);
  CHECK(p.health() == path_health::untried);
  CHECK(p.usable());
  p.came_up(now);
  CHECK(p.health() == path_health::good);
  p.died(now += 1s, prove, silent);
  CHECK(p.health() == path_health::dead);
  CHECK_FALSE(p.usable());
  CHECK(p.since() == now);
  CHECK(p.why() == errc::connection_lost);
  p.came_up(now += 1s);
  CHECK(p.health() == path_health::proving);
  CHECK(p.usable());
  CHECK(p.standing() == 1);
  CHECK(proves(p, now) == prove);
  CHECK(p.deaths() == 1);
  CHECK(p.suspicions() == 0);
}

TEST_CASE("few answers do not prove a path, however long they take") {
  time_point now{100s};
  path p = dead_at(now);
  p.came_up(now += 1s);
  for (std::uint32_t i = 1; i < path::answers_wanted; ++i) p.answered(now += 5s);
  CHECK(p.health() == path_health::proving);
  p.answered(now += 5s);
  CHECK(p.health() == path_health::good);
}

TEST_CASE("a suspected path that answers has to prove itself, too") {
  time_point now{100s};
  path p({0, 0}, 0, true);
  p.came_up(now);
  p.suspect(now += 1s, prove, silent);
  CHECK(p.health() == path_health::suspect);
  CHECK_FALSE(p.usable());
  p.suspect(now, prove, silent);
  CHECK(p.suspicions() == 1);
  p.answered(now += 50ms);
  CHECK(p.health() == path_health::proving);
  CHECK(proves(p, now) == prove);
}

TEST_CASE("deaths within a minute double the time to prove, up to a minute, and a quiet minute forgives") {
  time_point now{1000s};
  path p({0, 0}, 0, true);
  p.came_up(now);
  nanoseconds expected = prove;
  for (int deaths = 1; deaths <= 12; ++deaths) {
    p.died(now += 1s, prove, silent);
    CHECK(p.proof() == expected);
    p.came_up(now += 1s);
    expected = std::min(2 * expected, path::longest_proof);
  }
  CHECK(p.proof() == path::longest_proof);
  p.died(now += path::memory + 1s, prove, silent);
  CHECK(p.proof() == prove);
}

TEST_CASE("a suspicion and the death that follows it are one trouble") {
  time_point now{100s};
  path p({0, 0}, 0, true);
  p.came_up(now);
  p.suspect(now += 1s, prove, silent);
  p.died(now += 1s, prove, silent);
  CHECK(p.proof() == prove);
  CHECK(p.suspicions() == 1);
  CHECK(p.deaths() == 1);
}

TEST_CASE(
    "a dead path is tried again after pauses that grow to ten seconds, and begin anew when it is proven") {
  time_point now{100s};
  path p = dead_at(now);
  nanoseconds expected = path::first_pause;
  for (int i = 0; i < 8; ++i) {
    CHECK(p.next_pause() == expected);
    expected = std::min(2 * expected, path::longest_pause);
  }
  CHECK(p.next_pause() == path::longest_pause);
  p.came_up(now += 1s);
  proves(p, now);
  CHECK(p.next_pause() == path::first_pause);
}

TEST_CASE("a path under another rank is the same path") {
  const time_point now{100s};
  const path before = dead_at(now);
  path p({0, 0}, 7, false);
  p.resume(before);
  CHECK(p.health() == path_health::dead);
  CHECK(p.deaths() == 1);
  CHECK(p.rank() == 7);
  CHECK_FALSE(p.reachable());
}

TEST_CASE("a connection that ends before it has answered anything is no further trouble") {
  time_point now{100s};
  path p = dead_at(now);
  const nanoseconds before = p.proof();
  for (int i = 0; i < 5; ++i) {
    p.came_up(now += 1s);
    p.died(now += 10ms, prove, {errc::connection_lost, "the peer closed the connection"});
  }
  CHECK(p.proof() == before);
  CHECK(p.deaths() == 6);
  p.came_up(now += 1s);
  p.answered(now += 10ms);
  p.died(now += 10ms, prove, {errc::connection_lost, "the peer closed the connection"});
  CHECK(p.proof() == 2 * before);
}

TEST_CASE("a path that bulk data have left is not one that they cannot use") {
  const time_point now{100s};
  path p({0, 0}, 0, true);
  CHECK(p.takes_bulk(now));
  CHECK_FALSE(p.fails_bulk(now));

  p.bulk_left(now, 10s);
  CHECK_FALSE(p.takes_bulk(now + 9s));
  CHECK_FALSE(p.fails_bulk(now + 9s));
  CHECK(p.takes_bulk(now + 10s));

  p.bulk_failed(now);
  CHECK_FALSE(p.takes_bulk(now + 9s));
  CHECK(p.fails_bulk(now + 9s));
  CHECK_FALSE(p.fails_bulk(now + 10s));

  p.bulk_failed(now);
  p.forgive_bulk();
  CHECK_FALSE(p.takes_bulk(now + 9s));
  CHECK_FALSE(p.fails_bulk(now + 9s));

  p.bulk_failed(now);
  p.came_up(now + 1s);  // a connection for control shows that it can be used
  CHECK(p.takes_bulk(now + 2s));
  CHECK_FALSE(p.fails_bulk(now + 2s));
}

TEST_CASE("bulk data that leave a path again and again return to it later each time") {
  time_point now{100s};
  path p({0, 0}, 0, true);
  for (const nanoseconds away : {10s, 20s, 40s, 60s, 60s}) {
    p.bulk_left(now, 10s);
    p.bulk_left(now, 1s);  // what one end causes is one end
    CHECK_FALSE(p.takes_bulk(now + away - 1ns));
    CHECK(p.takes_bulk(now + away));
    now += away;
    p.bulk_came_up();
  }
  now += path::memory;
  p.bulk_left(now, 1s);
  CHECK(p.takes_bulk(now + 1s));
}
