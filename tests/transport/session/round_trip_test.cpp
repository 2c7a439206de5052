#include "transport/session/round_trip.hpp"

#include <algorithm>
#include <vector>

#include "session_pair.hpp"

// The round trip that probes measure, compared with the round trips that calls have.
using namespace network;

namespace {

constexpr std::size_t measured = 2000;

/// A call of node 1 that its peer answers at once. Returns how long the answer took.
nanoseconds timed_call(pair& p, std::uint64_t number) {
  call c;
  const time_point began = p.w.ex().now();
  REQUIRE(c.start(*p.left, 2, number).has_value());
  REQUIRE(p.w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  return p.w.ex().now() - began;
}

/// Round trips take from `rtt` to 1.5 times as long, by chance.
void set_round_trip(memory_world& w, nanoseconds rtt) {
  for (const std::uint32_t from : {1U, 2U}) {
    sim_link_model& model = w.net.path(from, 3 - from).model;
    model = sim_link_model::ideal(rtt / 2);
    model.jitter = rtt / 4;
  }
}

}  // namespace

TEST_CASE(
    "the safe round trip covers nearly all answers two seconds after a step, and is no longer than need be") {
  memory_world w;
  pair p(w);
  std::vector<nanoseconds> steps{10us, 20us, 50us, 100us, 200us, 500us, 1ms, 2ms, 5ms};
  for (std::size_t i = steps.size() - 1; i-- != 0;) steps.push_back(steps[i]);
  std::uint64_t number = 1;
  p.right->in.hold = true;
  call awaited;  // a round trip is measured while something is awaited
  REQUIRE(awaited.start(*p.left, 2, number).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 1; }));
  p.right->in.hold = false;
  for (const nanoseconds rtt : steps) {
    set_round_trip(w, rtt);
    const time_point settled = w.ex().now() + 2s;
    while (w.ex().now() < settled) {
      timed_call(p, ++number);
      w.pass(1ms);
    }
    const nanoseconds safe = p.left->to(2).rtt().safe();
    std::vector<nanoseconds> trips;
    for (std::size_t i = 0; i < measured; ++i) trips.push_back(timed_call(p, ++number));
    std::ranges::sort(trips);
    INFO("round trips from " << rtt / 1us << " us, the longest " << trips.back() / 1us << " us, safe "
                             << safe / 1us << " us");
    CHECK(trips.front() >= rtt);
    CHECK(trips.back() > rtt + rtt / 4);
    const auto covered = std::ranges::upper_bound(trips, safe) - trips.begin();
    CHECK(static_cast<std::size_t>(covered) * 1000 >= measured * 999);
    CHECK(safe <= 4 * trips[measured * 99 / 100] + 1ms);
  }
  p.right->in.answer_all();
  REQUIRE(w.until([&] { return awaited.answered(); }));
}
