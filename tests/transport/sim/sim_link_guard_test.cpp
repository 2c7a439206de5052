#include <cstring>
#include <memory>
#include <string>

#include "tests/transport/session/call.hpp"
#include "tests/transport/session/nodes.hpp"
#include "tests/transport/session/stranger.hpp"
#include "transport/sim/sim_security.hpp"

using namespace network;

namespace {

constexpr sim_handshake long_form{2, 5'000};

/// The options of a node with the one key of these tests.
endpoint_options keyed(node_id id, const sim_handshake& form, std::shared_ptr<sim_guard_counts> counts) {
  endpoint_options o = options_of(id);
  o.security = std::make_shared<sim_security>(form, sim_ring{{1, 99}}, id, std::move(counts));
  return o;
}

/// Two nodes with a key, on a network that cuts streams into small pieces.
struct guarded_pair {
  explicit guarded_pair(const sim_handshake& form = long_form)
      : a(w, keyed(1, form, counts)), b(w, keyed(2, form, counts)) {
    introduce(a, b);
  }

  bool call_is_answered(std::uint64_t number) {
    call c;
    REQUIRE(c.start(a, 2, number).has_value());
    return w.until([&] { return c.ends == 1; }) && c.answered();
  }
  sim_path& way(node_id from, node_id to) { return w.net.path(w.host_of(from), w.host_of(to)); }

  std::shared_ptr<sim_guard_counts> counts = std::make_shared<sim_guard_counts>();
  memory_world w{100};
  node a, b;
};

}  // namespace

TEST_CASE(
    "calls over a guarded simulated connection are answered, and nothing of them can be read on the way") {
  guarded_pair g(GENERATE(sim_handshake{}, long_form, sim_handshake{4, 0}));
  std::string greeting, messages;
  const auto record = [&g](std::string& into) {
    g.w.net.set_tamper([&into](std::uint32_t, std::uint32_t, std::span<std::byte> bytes) {
      into.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return true;
    });
  };
  record(greeting);
  CHECK(g.call_is_answered(1));
  record(messages);
  CHECK(g.call_is_answered(2));
  std::string magic(sizeof frame_header::magic, '\0');
  std::memcpy(magic.data(), &frame_header::magic, magic.size());
  CHECK(greeting.find(magic) != std::string::npos);
  CHECK(messages.size() > 200);
  CHECK(messages.find(magic) == std::string::npos);
  CHECK(g.counts->proven == 2);
  CHECK(g.w.net.unbound_frames() == 0);
}

TEST_CASE("a guarded simulated connection that is cut after any frame of its handshake is made anew") {
  for (std::uint32_t frames = 1; frames <= 12; ++frames) {
    const bool backwards = frames % 2 != 0;
    guarded_pair g;
    (backwards ? g.way(2, 1) : g.way(1, 2)).cut_after = (frames + 1) / 2;
    CHECK(g.call_is_answered(1));
    CHECK(g.b.in.seen[1] == 1);
    CHECK(g.a.in.losses.empty());
    CHECK(g.a.ep->statistics().not_authentic + g.b.ep->statistics().not_authentic == 0);
  }
}

TEST_CASE("altered hellos and steps of a simulated connection lead nowhere, and the next one is made") {
  std::uint64_t refused = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    guarded_pair g;
    for (std::uint32_t skipped = 0; skipped < i; ++skipped)
      static_cast<void>(g.w.clock.world().random().next());
    (i % 2 == 0 ? g.way(1, 2) : g.way(2, 1)).forge_next = 1 + i % 3;
    CHECK(g.call_is_answered(1));
    CHECK(g.w.net.forged() == 1 + i % 3);
    CHECK(g.w.net.unbound_frames() == 0);
    CHECK(g.b.in.seen[1] == 1);
    refused += g.a.ep->statistics().not_authentic + g.b.ep->statistics().not_authentic;
  }
  CHECK(refused >= 60);
}

TEST_CASE("an altered record ends its simulated connection, and what it held is sent again") {
  guarded_pair g;
  REQUIRE(g.call_is_answered(1));
  g.way(1, 2).corrupt_next = 1;
  CHECK(g.call_is_answered(2));
  CHECK(g.b.in.seen[2] == 1);
  CHECK(g.counts->records_refused == 1);
  CHECK(g.b.ep->last_violation() == errc::not_authentic);
}

TEST_CASE("simulated connections of one host have names of their own, and that of the host") {
  memory_world w;
  stranger first(w, 1), second(w, 1);
  node b(w, options_of(2));
  first.connect(w.address(2));
  second.connect(w.address(2));
  CHECK(first.local_name() != second.local_name());
  CHECK(first.local_name().substr(0, first.local_name().rfind(':')) == w.address(2));
}
