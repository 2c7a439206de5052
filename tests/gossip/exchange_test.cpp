#include <algorithm>
#include <set>

#include "cores.hpp"

using namespace cores;

namespace {

/// Advances to the next tick, and through all messages until the tick after it. Returns how many were sent.
std::size_t one_cycle(station& s) {
  core& p = s.protocol;
  s.out.clear();
  const std::uint64_t cycles = p.counts().cycles;
  time_point tick = p.next_timer();
  while (p.counts().cycles == cycles) p.on_timer(tick = p.next_timer());
  while (p.next_timer() < tick + interval) p.on_timer(p.next_timer());
  return s.out.size();
}

bytes answer_to(const configuration& shared, const sent& ping, participant_index asker) {
  message_head h = head(ping.to, 1, decode_head(ping.message)->clock);
  h.kind = message_kind::reply;
  h.echo = decode_head(ping.message)->sequence;
  return message(shared, asker, h, {});
}

}  // namespace

TEST_CASE("the configuration is told in full in the first cycles, as many as there are participants") {
  for (const bool stealth : {false, true}) {
    const auto shared = shared_by(5);
    options o = plain_options();
    o.stealth = stealth;
    o.retries = 0;
    station s(shared, 0, o);
    int silent = 0;
    while (one_cycle(s) == 0) REQUIRE(++silent < 20);
    CHECK((silent == 0) == !stealth);
    for (int cycle = 1; cycle <= 10; ++cycle, one_cycle(s)) {
      REQUIRE(s.out.size() == 1);
      const message_view ping = view(*shared, s.out[0]);
      CHECK(ping.head.digest == shortened(shared->digest()));
      CHECK(ping.head.in_full == (cycle <= 5));
      if (ping.head.in_full) CHECK(difference(ping.configuration, claim_of(*shared)) == parameter::none);
    }
  }
}

TEST_CASE("a cycle without a reply tries others, as often as chosen and within the cycle") {
  for (const std::uint32_t retries : {0U, 2U, 8U}) {
    options o = plain_options();
    o.retries = retries;
    const auto shared = shared_by(16);
    station s(shared, 0, o);
    for (std::uint64_t cycle = 1; cycle <= 20; ++cycle) {
      REQUIRE(one_cycle(s) == 1 + retries);
      std::set<participant_index> asked;
      for (const sent& one : s.out) asked.insert(one.to);
      CHECK(asked.size() == 1 + retries);
      CHECK(asked.count(0) == 0);
      CHECK(s.protocol.counts().pings == cycle);
      CHECK(s.protocol.counts().retries == cycle * retries);
    }
    CHECK(s.protocol.counts().cycles_without_reply == 19);  // the last cycle has not ended
  }
}

TEST_CASE("a cycle that was answered tries nobody else") {
  const auto shared = shared_by(16);
  station s(shared, 0, plain_options());
  s.protocol.on_timer(s.protocol.next_timer());
  REQUIRE(s.out.size() == 1);
  s.protocol.on_timer(s.protocol.next_timer());
  REQUIRE(s.out.size() == 2);  // the first retry
  const time_point now = s.protocol.next_timer();
  s.protocol.on_message(s.out[0].to, answer_to(*shared, s.out[0], 0), now);
  while (s.protocol.counts().cycles == 1) s.protocol.on_timer(s.protocol.next_timer());
  CHECK(s.protocol.counts().retries == 1);
  CHECK(s.protocol.counts().answered == 1);
  CHECK(s.protocol.counts().cycles_without_reply == 0);
}

TEST_CASE("a reply has what is fresher by more than the fudge, and nothing else") {
  const std::uint8_t none = never_heard;
  const auto reply_with = [&](std::uint32_t fudge) {
    options o = plain_options();
    o.fudge_cycles = fudge;
    const auto shared = shared_by(8);
    station s(shared, 0, o);
    s.protocol.on_message(1, message(*shared, 0, head(1, 1, 0), {none, 0, 5, 5, 5, 5, 5, none}),
                          time_point());
    s.out.clear();
    s.protocol.on_message(2, message(*shared, 0, head(2, 1, 0), {0, none, 0, 4, 5, 6, 8, 9}), time_point());
    REQUIRE(s.out.size() == 1);
    REQUIRE(s.out[0].to == 2);
    std::vector<std::uint8_t> told(8, none);
    REQUIRE(view(*shared, s.out[0]).ages(told));
    return told;
  };
  CHECK(reply_with(0) == std::vector<std::uint8_t>{none, 0, none, none, none, 5, 5, none});
  CHECK(reply_with(2) == std::vector<std::uint8_t>{none, 0, none, none, none, none, 5, none});
  CHECK(reply_with(3) == std::vector<std::uint8_t>{none, 0, none, none, none, none, none, none});
}
