#include "cores.hpp"

using namespace cores;
using std::chrono::milliseconds;

namespace {

struct kept {
  participant_index from;
  sent what;
};

options in_life(std::uint64_t incarnation) {
  options o = plain_options();
  o.incarnation = incarnation;
  return o;
}

/// Makes a reply that objects to a participant with another configuration.
bytes objection(const configuration& other, participant_index to, participant_index from,
                std::uint64_t sequence, std::uint64_t incarnation) {
  message_head h = head(from, sequence, 1, incarnation);
  h.kind = message_kind::reply;
  h.echo = 1;
  h.objects = h.in_full = h.established = true;
  return message(other, to, h, {});
}

/// Lets a newcomer ping the running participants, and hands it their replies, until it stops.
void end_by_objections(cluster& c, station& newcomer) {
  for (int i = 0; i < 40 && newcomer.protocol.stage() != participation::stopped; ++i) {
    c.now += interval;
    newcomer.protocol.on_timer(c.now);
    while (!newcomer.out.empty()) {
      const sent one = newcomer.out.front();
      newcomer.out.pop_front();
      if (!c.all[one.to]) continue;
      c.all[one.to]->protocol.on_message(newcomer.index, one.message, c.now);
      for (const sent& reply : c.all[one.to]->out) {
        if (c.tap) c.tap(one.to, reply);
        newcomer.protocol.on_message(one.to, reply.message, c.now);
      }
      c.all[one.to]->out.clear();
    }
  }
}

}  // namespace

TEST_CASE("what was said in an earlier configuration stops nobody when it is heard again") {
  for (const bool sealed : {false, true}) {
    std::vector<kept> old;
    const auto keep = [&](participant_index from, const sent& one) { old.push_back({from, one}); };

    // Life 1: all run with 250 ms; the fourth comes back with 200 ms, and stops for that.
    cluster before(8, in_life(1), sealed, milliseconds(250));
    before.tap = keep;
    before.run(20);
    before.kill(3);
    aead_seal seal(keys(), 8);
    options alone = in_life(1);
    alone.seal = sealed ? &seal : nullptr;
    station first(shared_by(8), 3, alone, before.now);
    end_by_objections(before, first);
    REQUIRE(first.protocol.stage() == participation::stopped);
    REQUIRE(std::any_of(old.begin(), old.end(), [](const kept& k) {
      const auto h = decode_head(k.what.message);
      return k.what.to == 3 && h->kind == message_kind::ping && h->in_full && h->established;
    }));

    // Life 2: all run with 200 ms. The fourth, in life 3, has heard from no other participant yet.
    cluster after(8, in_life(2), sealed);
    after.run(20);
    after.start(3, in_life(3));
    for (const kept& k : old) {
      station& s = *after.all[k.what.to];
      const state was(s.protocol);
      s.protocol.on_message(k.from, k.what.message, after.now);
      CHECK(state(s.protocol) == was);
      if (s.index != 3) CHECK(s.out.empty());
    }
    for (const auto& s : after.all) REQUIRE(s->protocol.stage() == participation::active);
    CHECK(after.all[0]->protocol.counts().disagreeing == 0);
    CHECK(after.all[0]->protocol.counts().stale_incarnation > 0);
    after.all[3]->out.clear();
    after.run(20);
    for (const auto& s : after.all) {
      CHECK(s->protocol.take_snapshot().alive == 7);
      if (s->index != 3) CHECK(s->protocol.incarnation(3) == 3);
    }
  }
}

TEST_CASE("who disagreed in a life before is not counted again, and who still does is") {
  cluster c(8);
  c.run(20);
  const auto other = shared_by(8, milliseconds(250));
  core& target = c.all[0]->protocol;
  const auto agree = [&](participant_index from, std::uint64_t incarnation) {
    target.on_message(from, message(*c.shared, 0, head(from, 100'000, target.clock(), incarnation), {}),
                      c.now);
  };
  for (participant_index i = 1; i < 8; ++i) agree(i, 1);

  // Three participants return with another configuration, are corrected and return again; then three others
  // do.
  for (participant_index i = 1; i <= 3; ++i) target.on_message(i, objection(*other, 0, i, 1, 2), c.now);
  for (participant_index i = 1; i <= 3; ++i) agree(i, 3);
  for (participant_index i = 4; i <= 6; ++i) target.on_message(i, objection(*other, 0, i, 1, 2), c.now);
  REQUIRE(target.counts().disagreeing == 6);
  for (participant_index i = 1; i <= 3; ++i) target.on_message(i, objection(*other, 0, i, 1, 2), c.now);
  CHECK(target.counts().stale_incarnation == 3);
  for (participant_index i = 4; i <= 6; ++i) target.on_message(i, objection(*other, 0, i, 1, 2), c.now);
  CHECK(target.counts().repeated == 3);
  CHECK(target.counts().disagreeing == 6);
  REQUIRE(target.stage() == participation::active);

  target.on_message(7, objection(*other, 0, 7, 1, 2), c.now);  // now more participants have it
  CHECK(target.stage() == participation::stopped);
  CHECK(target.failure().code() == errc::wrong_cluster);
}

TEST_CASE("a life that was heard of too late still ends the one before") {
  cluster c(8);
  c.run(60);
  core& target = c.all[0]->protocol;
  const std::uint64_t long_ago = target.clock() - target.threshold() - 1;
  const auto say = [&](std::uint64_t sequence, std::uint64_t clock, std::uint64_t incarnation) {
    target.on_message(1, message(*c.shared, 0, head(1, sequence, clock, incarnation), {}), c.now);
  };
  say(1, long_ago, 2);
  REQUIRE(target.counts().obsolete == 1);
  REQUIRE(target.incarnation(1) == 1);
  c.all[0]->out.clear();
  const state before(target);
  for (std::uint64_t sequence = 1; sequence <= 3; ++sequence) say(sequence, target.clock(), 1);
  CHECK(target.counts().stale_incarnation == 3);
  CHECK(state(target) == before);
  CHECK(c.all[0]->out.empty());
  say(2, target.clock(), 2);
  CHECK(target.incarnation(1) == 2);
}

TEST_CASE("a reply is for the life that asked") {
  for (const bool sealed : {false, true}) {
    cluster c(2, in_life(1), sealed);
    c.run(4);
    std::vector<kept> replies;
    c.tap = [&](participant_index from, const sent& one) {
      if (decode_head(one.message)->kind == message_kind::reply) replies.push_back({from, one});
    };
    c.run(3);
    REQUIRE_FALSE(replies.empty());
    c.tap = {};
    c.start(0, in_life(2));
    core& next = c.all[0]->protocol;
    for (const kept& r : replies) {
      if (r.from == 1) next.on_message(1, r.what.message, c.now);
    }
    CHECK(next.ages()[1] == never_heard);
    CHECK(next.counts().merged == 0);
    c.run(2);
    CHECK(next.ages()[1] == 0);
    CHECK(next.counts().answered > 0);
  }
}

TEST_CASE("another version of the protocol stops the newcomer by name, and is told so") {
  const auto shared = shared_by(4);
  const auto of_next_version = [&](message_kind kind) {
    message_head h = head(1, 1, 1);
    h.version = gossip::protocol_version + 1;
    h.kind = kind;
    h.echo = kind == message_kind::reply ? 1 : 0;
    h.established = true;
    return message(*shared, 0, h, {});
  };
  station newcomer(shared, 0, plain_options());
  newcomer.protocol.on_message(1, of_next_version(message_kind::ping), time_point());
  CHECK(newcomer.protocol.stage() == participation::active);
  REQUIRE(newcomer.out.size() == 1);
  const message_view told = view(*shared, newcomer.out[0]);
  CHECK(told.head.objects);
  CHECK(told.head.in_full);
  CHECK(told.configuration.version == gossip::protocol_version);

  newcomer.protocol.on_message(1, of_next_version(message_kind::reply), time_point());
  CHECK(newcomer.protocol.stage() == participation::active);  // this one was here before
  message_head h = head(1, 2, 1);
  h.version = gossip::protocol_version + 1;
  h.kind = message_kind::reply;
  h.echo = 1;
  h.established = true;
  newcomer.protocol.on_message(1, message(*shared, 0, h, {}), time_point());
  REQUIRE(newcomer.protocol.stage() == participation::stopped);
  CHECK(newcomer.protocol.failure().code() == errc::version_mismatch);
  const std::string text(newcomer.protocol.failure().text());
  CHECK(text.find("p:1 has another version") != std::string::npos);
  CHECK(newcomer.protocol.counts().merged == 0);
}
