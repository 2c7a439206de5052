#include "gossip/core.hpp"

#include <algorithm>

#include "cores.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace cores;

namespace {

std::size_t count(const std::vector<liveness_event>& events, event_kind kind) {
  return static_cast<std::size_t>(
      std::count_if(events.begin(), events.end(), [&](const auto& e) { return e.kind == kind; }));
}

}  // namespace

// Participants are counted from 1 in the source, from 0 here.
TEST_CASE("the source's exchange of four participants ends as the source says") {
  const auto shared = shared_by(4);
  options o = plain_options();
  o.ages = age_rule::relative_ages;
  o.clock = clock_rule::lamport;
  o.threshold = threshold_rule::logarithm;
  o.reprobe_one_in = 0;
  o.retries = 0;
  for (std::uint64_t seed = 1;; ++seed) {
    REQUIRE(seed < 100);
    o.seed = seed;
    station one(shared, 0, o), three(shared, 2, o);
    const time_point first = time_point(), second = first + interval;
    one.protocol.on_message(1, message(*shared, 0, head(1, 1, 1), {255, 0, 3, 4}), first);
    one.protocol.on_timer(second);
    REQUIRE(std::ranges::equal(one.protocol.ages(), std::vector<int>{0, 2, 5, 6}));
    three.protocol.on_message(3, message(*shared, 2, head(3, 1, 1), {5, 6, 255, 0}), first);
    three.out.clear();
    one.out.clear();
    three.protocol.on_timer(second);
    REQUIRE(std::ranges::equal(three.protocol.ages(), std::vector<int>{7, 8, 0, 2}));
    REQUIRE(three.out.size() == 1);
    if (three.out[0].to != 0) continue;

    const message_view ping = view(*shared, three.out[0]);
    std::vector<std::uint8_t> told(4);
    REQUIRE(ping.ages(told));
    CHECK(told == std::vector<std::uint8_t>{7, 8, 0, 2});
    one.protocol.on_message(2, three.out[0].message, second);
    CHECK(std::ranges::equal(one.protocol.ages(), std::vector<int>{0, 2, 1, 3}));

    REQUIRE(one.out.size() == 1);
    const message_view reply = view(*shared, one.out[0]);
    REQUIRE(reply.ages(told));
    CHECK(told == std::vector<std::uint8_t>{0, 2, never_heard, never_heard});
    three.protocol.on_message(0, one.out[0].message, second);
    CHECK(std::ranges::equal(three.protocol.ages(), std::vector<int>{1, 3, 0, 2}));
    return;
  }
}

TEST_CASE("everybody is told alive once, a death is noticed by all, and so is a return") {
  for (const std::uint32_t size : {3U, 16U, 70U}) {
    cluster c(size);
    c.run(20);
    for (const auto& s : c.all) {
      CHECK(count(s->events, event_kind::alive) == size - 1);
      CHECK(s->events.size() == size - 1);
    }
    c.kill(1);
    c.run(22);
    for (const auto& s : c.all) {
      if (!s) continue;
      REQUIRE(s->events.size() == size);
      CHECK(s->events.back().kind == event_kind::dead);
      CHECK(s->events.back().who == 1);
      CHECK(s->events.back().epoch == size);
      CHECK(s->protocol.explain(1).age_then > s->protocol.explain(1).threshold_then);
    }
    options again = plain_options();
    again.incarnation = 2;
    c.start(1, again);
    c.run(20);
    for (const auto& s : c.all) {
      if (s->index == 1) continue;
      REQUIRE(s->events.size() == size + 1);
      CHECK(s->events.back().kind == event_kind::rebooted);
      CHECK(s->events.back().incarnation == 2);
      CHECK(s->events.back().aliveness == 1);
    }
  }
}

TEST_CASE("a restart within a cycle is noticed by all, at once and as one event") {
  cluster c(32);
  c.run(20);
  options again = plain_options();
  again.incarnation = 7;
  c.start(5, again);
  c.run(12);
  for (const auto& s : c.all) {
    if (s->index == 5) continue;
    REQUIRE(s->events.size() == 32);
    CHECK(s->events.back().kind == event_kind::rebooted);
    CHECK(s->events.back().incarnation == 7);
  }
}

TEST_CASE("a next life that is named when its owner is just too old is told at the next tick") {
  cluster c(5);
  c.run(40);
  c.kill(4);
  station& s = *c.all[0];
  core& p = s.protocol;
  for (int cycles = 0; p.ages()[4] != p.threshold(); ++cycles) {
    REQUIRE(cycles < 40);
    c.run(1);
  }
  REQUIRE(p.state(4) == liveness::alive);
  s.events.clear();

  // One message moves the clock past the threshold of participant 4 and names its next life; another sender
  // has heard from it in that life.
  const std::uint64_t later = p.clock() + 1, unheard_of = std::uint64_t{1} << 40;
  p.on_message(1, message(*c.shared, 0, head(1, unheard_of, later), {1, 0, 1, 1, 200}, {{4, 2}}), c.now);
  REQUIRE(p.clock() == later);
  REQUIRE(p.ages()[4] == p.threshold() + 1);
  p.on_message(2, message(*c.shared, 0, head(2, unheard_of, later), {1, 1, 0, 1, 0}), c.now);
  REQUIRE(p.ages()[4] == 0);
  CHECK(s.events.empty());
  const std::uint64_t cycles = p.counts().cycles;
  while (p.counts().cycles == cycles) p.on_timer(p.next_timer());
  REQUIRE(s.events.size() == 1);
  CHECK(s.events[0].kind == event_kind::rebooted);
  CHECK(s.events[0].who == 4);
  CHECK(s.events[0].incarnation == 2);
}

TEST_CASE("a start is silent until the life before it is held dead, and no longer") {
  cluster c(8);
  c.run(20);
  options quiet = plain_options();
  quiet.stealth = true;
  quiet.incarnation = 2;
  c.start(3, quiet);
  core& newcomer = c.all[3]->protocol;
  for (std::uint32_t cycle = 0; cycle < newcomer.threshold(); ++cycle) {
    c.run(1);
    CHECK(newcomer.counts().messages_sent == 0);
    CHECK(newcomer.stage() == participation::stealth);
  }
  CHECK(newcomer.clock() + 1 >= c.all[0]->protocol.clock());
  c.run(8);
  CHECK(newcomer.stage() == participation::active);
  c.kill(3);
  c.run(60);  // by now every participant takes it for dead, so a return need not wait
  quiet.incarnation = 3;
  c.start(3, quiet);
  c.run(9);
  CHECK(c.all[3]->protocol.counts().cycles < c.all[3]->protocol.threshold());
  CHECK(c.all[3]->protocol.stage() == participation::active);
  for (const auto& s : c.all) {
    if (s->index != 3) CHECK(s->events.back().kind == event_kind::rebooted);
  }
}

TEST_CASE("who is cut off from all calls nobody dead") {
  cluster c(16);
  c.run(20);
  c.lose = [](participant_index a, participant_index b) { return a == 4 || b == 4; };
  c.run(100);
  CHECK(count(c.all[4]->events, event_kind::dead) == 0);
  CHECK(c.all[4]->protocol.reason() == withheld::no_replies);
  CHECK(c.all[4]->protocol.explain(7).age > c.all[4]->protocol.threshold());
  CHECK(c.all[4]->protocol.reach(7) == reachability::unreachable);
  for (const auto& s : c.all) {
    if (s->index != 4) CHECK(count(s->events, event_kind::dead) == 1);
  }
  c.lose = {};
  c.run(25);
  for (const auto& s : c.all) {
    if (s->index != 4) CHECK(s->events.back().kind == event_kind::alive);  // the same life
  }
  CHECK(count(c.all[4]->events, event_kind::dead) == 0);
}

TEST_CASE("who stands still for a second is forgiven, and forgives all others") {
  cluster c(16);
  c.run(20);
  for (int round = 0; round < 10; ++round) {
    std::vector<std::unique_ptr<station>> stopped(8);
    for (std::size_t i = 0; i < 8; ++i) stopped[i] = std::move(c.all[i]);
    c.run(5);
    for (std::size_t i = 0; i < 8; ++i) c.all[i] = std::move(stopped[i]);
    c.run(12);
  }
  for (const auto& s : c.all) CHECK(s->events.size() == 15);
}

TEST_CASE("half of all dying at once makes no survivor call another dead") {
  cluster c(64);
  c.run(20);
  for (participant_index i = 0; i < 64; i += 2) c.kill(i);
  c.run(60);
  for (const auto& s : c.all) {
    if (!s) continue;
    CHECK(count(s->events, event_kind::dead) == 32);
    for (const auto& e : s->events) CHECK((e.kind == event_kind::alive || e.who % 2 == 0));
  }
}

TEST_CASE("a replayed, truncated, altered or foreign message changes nothing") {
  for (const bool sealed : {false, true}) {
    cluster c(8, plain_options(), sealed);
    c.run(20);
    core& target = c.all[0]->protocol;
    std::vector<sent> kept, of_others;  // grouped by sender
    for (int cycle = 0; cycle < 5; ++cycle) {
      c.now += interval;
      for (auto& s : c.all) {
        s->protocol.on_timer(c.now);
        for (const sent& one : s->out) {
          if (s->index != 0) (one.to == 0 ? kept : of_others).push_back({s->index, one.message});
        }
        s->out.clear();
      }
    }
    REQUIRE(kept.size() > 1);
    REQUIRE(of_others.size() > kept.size());
    const counters start = target.counts();
    const auto refused = [&] {
      const counters& now = target.counts();
      return now.malformed - start.malformed + now.not_authentic - start.not_authentic;
    };
    for (const sent& k : of_others) {  // to another receiver, from the sender's address
      const state before(target);
      target.on_message(k.to, k.message, c.now);
      CHECK(state(target) == before);
    }
    CHECK(refused() == of_others.size());
    CHECK((target.counts().not_authentic != start.not_authentic) == sealed);
    random_generator random(3);
    for (const sent& k : kept) {
      const state before(target);
      for (std::size_t size = 0; size < k.message.size(); ++size)
        target.on_message(k.to, std::span(k.message.data(), size), c.now);
      for (std::size_t i = 0; i < k.message.size(); ++i) {
        bytes altered = k.message;
        altered[i] ^= static_cast<std::byte>(1 + random.below(255));
        target.on_message(k.to, altered, c.now);
      }
      target.on_message((k.to + 1) % 8, k.message, c.now);  // from another participant's address
      target.on_stranger(k.message, c.now, {});
      CHECK(state(target) == before);
      CHECK(c.all[0]->out.empty());
      target.on_message(k.to, k.message, c.now);
      const state after(target);
      CHECK_FALSE(after == before);
      CHECK(c.all[0]->out.size() == 1);
      target.on_message(k.to, k.message, c.now);
      CHECK(state(target) == after);
      CHECK(c.all[0]->out.size() == 1);
      c.all[0]->out.clear();
    }
    CHECK(target.counts().repeated == start.repeated + kept.size());
    CHECK(refused() > 100 * kept.size());
    CHECK(target.counts().unknown_address == kept.size());
  }
}

TEST_CASE("a message of another configuration changes nothing, and stops the newcomer by name") {
  cluster c(8);
  c.run(20);
  const auto other = shared_by(8, std::chrono::milliseconds(250));
  station newcomer(other, 3, plain_options(9), c.now);
  c.kill(3);
  const state before(c.all[0]->protocol);
  for (int i = 0; i < 40 && newcomer.protocol.stage() != participation::stopped; ++i) {
    c.now += std::chrono::milliseconds(250);
    newcomer.protocol.on_timer(c.now);
    while (!newcomer.out.empty()) {
      const sent one = newcomer.out.front();
      newcomer.out.pop_front();
      if (one.to == 3) continue;
      core& receiver = c.all[one.to]->protocol;
      receiver.on_message(3, one.message, c.now);
      for (const sent& reply : c.all[one.to]->out) newcomer.protocol.on_message(one.to, reply.message, c.now);
      c.all[one.to]->out.clear();
    }
  }
  CHECK(state(c.all[0]->protocol) == before);
  REQUIRE(newcomer.protocol.stage() == participation::stopped);
  CHECK(newcomer.protocol.failure().code() == errc::wrong_cluster);
  const std::string text(newcomer.protocol.failure().text());
  CHECK(text.find("interval") != std::string::npos);
  CHECK(text.find("p:") != std::string::npos);
  for (const auto& s : c.all) {
    if (s) CHECK(s->protocol.stage() == participation::active);
  }
}

TEST_CASE("a life that is not the latest stops") {
  cluster c(4);
  c.run(12);
  core& target = c.all[0]->protocol;
  target.on_message(1, message(*c.shared, 0, head(1, 1000, target.clock()), {}, {{0, 5}}), c.now);
  CHECK(target.stage() == participation::stopped);
  CHECK(target.failure().code() == errc::stale);
}

TEST_CASE("what is too old is not looked at, but answered with the clock") {
  cluster c(8);
  c.run(60);
  core& target = c.all[0]->protocol;
  c.all[0]->out.clear();
  const std::uint64_t long_ago = target.clock() - target.threshold() - 1;
  const auto before = target.counts();
  target.on_message(1, message(*c.shared, 0, head(1, 100'000, long_ago), {0, 0, 0, 0, 0, 0, 0, 0}), c.now);
  CHECK(target.counts().obsolete == before.obsolete + 1);
  CHECK(target.counts().merged == before.merged);
  REQUIRE(c.all[0]->out.size() == 1);
  const message_view reply = view(*c.shared, c.all[0]->out[0]);
  CHECK(reply.head.obsolete);
  CHECK(reply.head.clock == target.clock());
  CHECK(reply.part.count == 0);

  c.all[0]->out.clear();
  message_head answer = head(2, 100'000, long_ago);
  answer.kind = message_kind::reply;
  answer.echo = 1;
  const state known(target);
  target.on_message(2, message(*c.shared, 0, answer, {0, 0, 0, 0, 0, 0, 0, 0}), c.now);
  CHECK(target.counts().obsolete == before.obsolete + 2);
  CHECK(state(target) == known);
  CHECK(c.all[0]->out.empty());
}

TEST_CASE("a vector that is longer than a message goes in parts that stand alone") {
  const auto shared = shared_by(1000);
  const std::size_t most = core::least_bytes(nullptr) + 192;
  station a(shared, 0, plain_options(), time_point(), most);
  std::vector<std::uint8_t> ages(1000);
  for (std::size_t i = 0; i < ages.size(); ++i) ages[i] = static_cast<std::uint8_t>(i % 7);
  for (std::uint32_t first = 0; first < 1000; first += 250) {
    const std::vector<std::uint8_t> some(ages.begin() + first, ages.begin() + first + 250);
    a.protocol.on_message(2, message(*shared, 0, head(2, 1 + first, 0), some, {}, first), time_point());
  }
  a.out.clear();
  a.protocol.on_timer(time_point() + interval);
  const auto parts = (1000 + 255) / 256;
  REQUIRE(a.out.size() == parts);
  station b(shared, a.out[2].to, plain_options(), time_point(), most);
  b.protocol.on_message(0, a.out[2].message, time_point() + interval);
  for (participant_index i = 1; i < 1000; ++i) {
    if (i != b.index) CHECK((b.protocol.ages()[i] == never_heard) == (i < 512 || i >= 768));
  }
  CHECK(b.protocol.ages()[0] == 0);  // the sender of a part is alive
  for (const sent& one : a.out) CHECK(one.message.size() <= most);
}

TEST_CASE("the most participants go in parts of a whole datagram, each complete by itself") {
  constexpr std::size_t datagram = 65'507;
  const auto shared = shared_by(most_participants);
  const auto age_of = [](std::size_t who) { return static_cast<std::uint8_t>(1 + who * 7 % 11); };
  for (const bool sealed : {false, true}) {
    std::deque<aead_seal> seals;
    const auto seal = [&]() -> message_seal* {
      return sealed ? &seals.emplace_back(keys(), most_participants) : nullptr;
    };
    const auto make = [&](participant_index self) {
      options o = plain_options();
      o.seal = seal();
      return std::make_unique<station>(shared, self, o, time_point(), datagram);
    };
    const auto a = make(0);
    message_seal* const of_third = seal();
    for (std::uint32_t first = 0; first < most_participants; first += 32'768) {
      std::vector<std::uint8_t> ages(32'768);
      for (std::size_t i = 0; i < ages.size(); ++i) ages[i] = age_of(first + i);
      a->protocol.on_message(2, message(*shared, 0, head(2, 1 + first, 0), ages, {}, first, of_third),
                             time_point());
    }
    a->out.clear();
    a->protocol.on_timer(time_point() + interval);
    REQUIRE(a->out.size() == 2);
    const sent parts[] = {a->out[0], a->out[1]};
    CHECK(parts[0].to == parts[1].to);
    CHECK(parts[0].message.size() > datagram - 1000);
    for (const sent& one : parts) CHECK(one.message.size() <= datagram);

    // The parts arrive in order, in reverse order, and with one of them lost.
    std::uint32_t entries[2] = {};
    for (const std::vector<std::size_t>& order : {std::vector<std::size_t>{0}, {1}, {0, 1}, {1, 0}}) {
      const auto b = make(parts[0].to);
      for (const std::size_t which : order)
        b->protocol.on_message(0, parts[which].message, time_point() + interval);
      CHECK(b->protocol.counts().merged == order.size());
      CHECK(b->out.size() == order.size());  // each part is answered by itself
      CHECK(b->protocol.ages()[0] == 0);     // the sender of a part is alive
      std::uint32_t known = 0, wrong = 0;
      for (participant_index who = 3; who < most_participants; ++who) {
        if (who == b->index) continue;
        const std::uint8_t age = b->protocol.ages()[who];
        known += age != never_heard;
        wrong += age != never_heard && age != a->protocol.ages()[who];
      }
      CHECK(wrong == 0);
      if (order.size() == 1) {
        entries[order[0]] = known;
        CHECK(known > 100);
      } else {
        CHECK(known == most_participants - 4);
        CHECK(entries[0] + entries[1] == known);
      }
    }
  }
}

TEST_CASE("cycles, messages and verdicts allocate nothing") {
  cluster c(64);
  c.run(20);
  core& a = c.all[0]->protocol;
  bytes ping;
  c.all[0]->out.clear();
  for (int i = 0; i < 1000 && ping.empty(); ++i) {
    c.now += interval;
    a.on_timer(c.now);
    a.on_timer(c.now + interval / 2);
    for (const sent& one : c.all[0]->out) {
      if (one.to == 1) ping = one.message;
    }
  }
  REQUIRE_FALSE(ping.empty());
  struct nothing final : core_output {
    bool send(participant_index, way, std::span<const std::byte>) noexcept override { return true; }
    void changed(const liveness_event&) noexcept override {}
  } out;
  core quiet(c.shared, 1, plain_options(), 65507, c.now, out);
  const std::size_t before = allocation_counter::on_this_thread();
  quiet.on_message(0, ping, c.now);
  for (int i = 0; i < 100; ++i) quiet.on_timer(c.now += interval);
  CHECK(allocation_counter::on_this_thread() == before);
}
