#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tests/support/stacked_rail.hpp"
#include "tests/transport/session/call.hpp"
#include "tests/transport/session/nodes.hpp"
#include "tests/transport/session/worlds.hpp"

using namespace network;
using scoll::test::fake_verbs_world;

namespace {

/// Two nodes over simulated devices. Node 1 is host 1.
struct verbs_session {
  explicit verbs_session(const std::function<void(verbs_options&)>& tune = {}) {
    if (tune) tune(w.options);
    nodes.emplace(w);
  }
  node& left() { return *nodes->left; }
  node& right() { return *nodes->right; }
  bool ask(std::uint64_t number, std::size_t bytes = 8) {
    call c;
    REQUIRE(c.start(left(), 2, number, bytes).has_value());
    REQUIRE(w.until([&] { return c.ends == 1; }));
    last = c.outcome;
    return c.answered();
  }
  std::uint64_t links() {
    return static_cast<test::stacked_rail&>(left().transport()).verbs.statistics().links;
  }

  fake_verbs_world w;
  std::optional<linked_nodes> nodes;
  error last;
};

}  // namespace

TEST_CASE("messages travel over queue pairs, and the connection below is silent") {
  verbs_session f;
  REQUIRE(f.ask(1));
  const std::uint64_t below = f.w.net.bytes_carried();
  const std::uint64_t sends = f.w.devices.statistics().sends;
  for (std::uint64_t i = 2; i < 50; ++i) REQUIRE(f.ask(i, 20000));
  CHECK(f.w.net.bytes_carried() == below);
  CHECK(f.w.devices.statistics().sends >= sends + 2 * 48);
}

TEST_CASE("what was sent wakes nobody while it is little, and is looked at before long") {
  verbs_session f;
  REQUIRE(f.ask(1));
  f.w.pass(20ms);
  CHECK(f.w.devices.statistics().not_taken == 0);  // of the answer, which nothing has followed
  const std::uint64_t before = f.w.devices.statistics().wakeups;
  constexpr std::uint64_t calls = 100;
  for (std::uint64_t i = 2; i < 2 + calls; ++i) REQUIRE(f.ask(i));
  const std::uint64_t wakeups = f.w.devices.statistics().wakeups - before;
  CHECK(wakeups >= 2 * calls);  // each request and each answer is an arrival
  CHECK(wakeups <= 2 * calls + calls / 5);
}

TEST_CASE("a link that closes has seen its last sends complete before long") {
  verbs_session f;
  REQUIRE(f.ask(1));
  f.w.pass(20ms);
  REQUIRE(f.ask(2));  // the answer's completion has woken nobody
  const auto begun = f.w.ex().now();
  f.right().stop();
  CHECK(f.w.ex().now() - begun < 12ms);
}

TEST_CASE("what a queue pair has completed is taken before its number is free") {
  verbs_session f;
  std::uint64_t number = 1;
  REQUIRE(f.ask(number));
  f.w.pass(20ms);
  while (f.w.devices.statistics().not_taken == 0) REQUIRE(f.ask(++number));  // it has woken nobody
  const auto begun = f.w.ex().now();
  f.w.part(1, 2);
  REQUIRE(f.w.until([&] { return f.w.devices.statistics().queue_pairs == 0; }));
  CHECK(f.w.ex().now() - begun < 5ms);  // nobody has looked for what wakes nobody
  CHECK(f.w.devices.statistics().not_taken == 0);
}

TEST_CASE("messages that wait for slabs go on when the first of them is free") {
  verbs_session f([](verbs_options& o) { o.send_slabs = 2; });
  REQUIRE(f.ask(1));
  const auto begun = f.w.ex().now();
  for (std::uint64_t i = 2; i < 22; ++i) REQUIRE(f.ask(i, 32'000));
  CHECK(f.w.ex().now() - begun < 10ms);
}

TEST_CASE("an idle link sends nothing and gives back what it was promised") {
  verbs_session f;
  for (std::uint64_t i = 1; i < 200; ++i) REQUIRE(f.ask(i, 30000));
  f.w.pass(10s);
  const std::uint64_t sends = f.w.devices.statistics().sends;
  f.w.pass(60s);
  CHECK(f.w.devices.statistics().sends == sends);
  CHECK(f.ask(500, 30000));
}

TEST_CASE("a message that was delivered, though its sender was told of a failure, is executed once") {
  verbs_session f;
  REQUIRE(f.ask(1));
  f.w.devices.lose_all_after_next(1, 2);
  call c;
  REQUIRE(c.start(f.left(), 2, 2).has_value());
  // Seven times 67 ms: the retries end within the grace.
  REQUIRE(f.w.until([&] { return !f.left().to(2).connected(traffic_class::call); }));
  CHECK(f.right().in.seen[2] == 1);
  f.w.devices.heal();
  REQUIRE(f.w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  CHECK(f.right().in.seen[2] == 1);
  CHECK(f.links() == 2);
}

TEST_CASE("a device that refuses a send in the middle of a list costs its link, and no message") {
  verbs_session f;
  REQUIRE(f.ask(1));
  for (std::uint32_t after = 0; after < 12; ++after) {
    const std::uint64_t before = f.links();
    f.w.devices.refuse_send_after(1, after);
    std::uint64_t number = 1000 + 100 * after;
    while (f.links() == before) REQUIRE(f.ask(++number, 32000));
    CHECK(f.ask(++number, 32000));
    for (const auto& [which, times] : f.right().in.seen) CHECK(times == 1);
  }
}

TEST_CASE("the port of a device goes down, for short and for long") {
  verbs_session f;
  REQUIRE(f.ask(1));
  SECTION("for less than the patience: nobody hears of it") {
    const std::uint64_t before = f.links();
    f.w.devices.set_port(1, false);
    f.w.pass(10ms);
    f.w.devices.set_port(1, true);
    CHECK(f.ask(2));
    CHECK(f.links() == before);
  }
  SECTION("and its links end before their retries do") {
    f.w.devices.set_port(1, false);
    f.w.pass(30ms);
    CHECK_FALSE(f.left().to(2).connected(traffic_class::call));
    f.w.devices.set_port(1, true);
    CHECK(f.ask(2));
  }
  SECTION("and no event says so: retries end, and the link with them") {
    f.w.devices.set_port(1, false, false);
    call c;
    REQUIRE(c.start(f.left(), 2, 2).has_value());
    REQUIRE(f.w.until([&] { return !f.left().to(2).connected(traffic_class::call); }));
    f.w.devices.set_port(1, true, false);
    REQUIRE(f.w.until([&] { return c.ends == 1; }));
    CHECK(c.answered());
  }
}

TEST_CASE("a device that fails is opened again, and the session goes on") {
  verbs_session f;
  REQUIRE(f.ask(1));
  const auto host = GENERATE(1U, 2U);
  f.w.devices.fail_device(host);
  CHECK(f.ask(2));
  CHECK(f.ask(3, 30000));
  CHECK(f.right().in.seen[2] == 1);
}

TEST_CASE("connecting fails as long as the port is down, and the error says why") {
  verbs_session f;
  f.w.devices.set_port(1, false);
  CHECK_FALSE(f.ask(1));
  CHECK(f.last.text().find("port 1 of fake0 is down") != std::string_view::npos);
  f.w.devices.set_port(1, true);
  CHECK(f.ask(2));
}

TEST_CASE("slow calls to the device delay a link and nothing else") {
  verbs_session f;
  f.w.devices.set_control_time(50ms);
  CHECK(f.ask(1));
  f.w.devices.set_control_time(500ms);
  for (std::uint64_t i = 2; i < 20; ++i) CHECK(f.ask(i));
  f.w.part(1, 2);
  f.w.join(1, 2);
  call c;
  REQUIRE(c.start(f.left(), 2, 20).has_value());
  REQUIRE(f.w.until([&] { return c.ends == 1; }));  // answered, or lost within the grace
  CHECK(f.right().in.seen[20] <= 1);
}

TEST_CASE("a peer that is not on RDMA is refused, and says so") {
  fake_verbs_world w;
  node speaker(w, options_of(1));
  memory_world& plain = w;
  auto tcp_like = plain.memory_world::make_rail(2);
  endpoint_options o = options_of(2);
  service in;
  endpoint listener(w.ex(), *tcp_like, o, in);
  in.owner = &listener;
  REQUIRE(listener.listen(w.address(2)).has_value());
  REQUIRE(speaker.ep->add_peer(2, listener.listen_address()).has_value());
  call c;
  REQUIRE(c.start(speaker, 2, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.outcome.text().find("must be a hello") != std::string_view::npos);
}

TEST_CASE("more links than there are places for are refused, and the setting is named") {
  verbs_session f([](verbs_options& o) { o.receive_slots = 16; });  // 12 to share out: three links
  std::vector<std::unique_ptr<node>> others;
  REQUIRE(f.ask(1));
  error refused;
  for (node_id id = 3; id < 7; ++id) {
    others.push_back(std::make_unique<node>(f.w, options_of(id)));
    introduce(*others.back(), f.right());
    call c;
    REQUIRE(c.start(*others.back(), 2, id).has_value());
    REQUIRE(f.w.until([&] { return c.ends == 1; }));
    if (!c.answered()) refused = c.outcome;
  }
  CHECK(refused.text().find("verbs.receive_slots is 16") != std::string_view::npos);
  CHECK(f.ask(2));
}

TEST_CASE("services that hold what has arrived do not stop what comes next") {
  const std::uint32_t places = GENERATE(16U, 24U, 32U, 64U);
  verbs_session f([&](verbs_options& o) { o.receive_slots = places; });
  f.right().in.hold = f.right().in.hold_payloads = true;
  std::vector<std::unique_ptr<call>> calls;
  for (std::uint64_t i = 0; i < 200; ++i) {
    calls.push_back(std::make_unique<call>());
    REQUIRE(calls.back()->start(f.left(), 2, i, 4000).has_value());
  }
  const std::size_t window = f.left().ep->options().window[static_cast<std::size_t>(traffic_class::call)];
  REQUIRE(f.w.until([&] { return f.right().in.held.size() >= std::min<std::size_t>(200, window); }));
  f.right().in.hold = false;
  f.right().in.answer_all();
  REQUIRE(f.w.until([&] { return std::ranges::all_of(calls, [](auto& c) { return c->ends == 1; }); }));
  for (auto& c : calls) CHECK(c->answered());
  CHECK(f.right().in.damaged == 0);
}

TEST_CASE("what the interface below a verbs rail tells of itself is passed on") {
  struct hearer final : accept_events {
    void on_accepted(transport::link&) noexcept override {}
    void on_interface_hint(bool usable) noexcept override { hints.push_back(usable); }
    std::vector<bool> hints;
  } heard;
  fake_verbs_world w;
  sim_rail below(w.net, w.clock, 1);
  const auto devices = w.devices.api(w.clock, 1);
  verbs_rail rail(w.clock, *devices, below, w.options);
  below.hint(false);  // nobody listens
  REQUIRE(rail.listen(w.address(1), heard).has_value());
  below.hint(false);
  below.hint(true);
  w.run_out();
  CHECK(heard.hints == std::vector<bool>{false, true});
  rail.stop_listening();
  below.hint(false);
  w.run_out();
  CHECK(heard.hints.size() == 2);
}
