#include "session_pair.hpp"

using namespace network;

namespace {

/// A request whose answer comes in parts that are counted; the peer holds it.
struct counted {
  explicit counted(world& in, std::uint32_t at_first, traffic_class klass = traffic_class::collective)
      : p(in), w(in) {
    p.right->in.hold = true;
    c.count_parts(at_first);
    REQUIRE(c.start(*p.left, 2, 5, 8, klass).has_value());
    REQUIRE(w.until([&] { return p.right->in.held.size() == 1; }));
  }
  service::job& held() { return *p.right->in.held.front(); }
  void send_part(std::size_t bytes = 8) {
    held().work.reply_part(compose(*p.right->ep, {c.number, 0, 1}, bytes));
    c.want_bytes = static_cast<std::uint32_t>(bytes);
  }
  bool parts_are(int count) {
    return w.until([&] { return c.parts == count || c.ends == 1; }) && c.parts == count;
  }

  pair p;
  world& w;
  call c;
};

}  // namespace

TEST_CASE("a request says how many parts of its answer may come, and none where they are not counted",
          "[reactor]") {
  const auto w = any_world();
  {
    counted some(*w, 3);
    CHECK(some.held().work.parts_left() == 3);
  }
  counted none(*w, 0);
  CHECK(none.held().work.parts_left() == 0);
  for (int part = 1; part <= 20; ++part) none.send_part();
  REQUIRE(none.parts_are(20));
  none.p.right->in.answer_all();
  REQUIRE(w->until([&] { return none.c.ends == 1; }));
  CHECK(none.c.answered());
  REQUIRE(none.p.quiet());
  check_credit_is_back(none.p);
}

TEST_CASE("parts with a payload use up what is allowed, and each permission adds one", "[reactor]") {
  const auto w = any_world();
  const auto klass = GENERATE(traffic_class::urgent, traffic_class::collective, traffic_class::call);
  counted k(*w, 1, klass);
  static incoming* heard = nullptr;
  heard = nullptr;
  k.held().work.hear_of_permission([](incoming& work) noexcept { heard = &work; });
  k.send_part();
  CHECK(k.held().work.parts_left() == 0);
  REQUIRE(k.parts_are(1));
  CHECK(heard == nullptr);
  k.c.allow_part();
  REQUIRE(w->until([&] { return heard == &k.held().work; }));
  CHECK(k.held().work.parts_left() == 1);
  k.c.allow_part();
  k.c.allow_part();
  REQUIRE(w->until([&] { return k.held().work.parts_left() == 3; }));
  k.send_part(message::inline_payload_bytes + 1);
  REQUIRE(k.parts_are(2));
  k.send_part(0);  // an empty one is not counted
  k.send_part(0);
  REQUIRE(k.parts_are(4));
  CHECK(k.held().work.parts_left() == 2);
  k.c.want_bytes = 8;
  k.p.right->in.answer_all();
  REQUIRE(w->until([&] { return k.c.ends == 1; }));
  CHECK(k.c.answered());
  REQUIRE(k.p.quiet());
}

TEST_CASE("the part beyond those that are allowed ends the exchange, and the link stays", "[reactor]") {
  const auto w = any_world();
  counted k(*w, 2);
  for (int part = 0; part < 1000; ++part) k.send_part();
  REQUIRE(w->until([&] { return k.c.ends == 1; }));
  CHECK(k.c.parts == 2);
  CHECK(k.c.outcome == errc::malformed);
  CHECK(k.c.outcome.text() == "node 2 sent part 3 of a reply, 2 were allowed");
  CHECK_FALSE(k.c.refused);
  CHECK(k.c.reached);
  REQUIRE(w->until([&] { return k.p.right->in.cancelled == 1; }));
  CHECK(k.p.right->in.reasons.back() == errc::malformed);
  CHECK(k.p.left->ep->statistics().links_broken == 0);
  REQUIRE(k.p.quiet());
}

TEST_CASE("an exchange, and a request, that move take their counts along", "[reactor]") {
  const auto w = any_world();
  counted k(*w, 2);
  k.send_part();
  REQUIRE(k.parts_are(1));
  incoming elsewhere;
  k.held().work.move_to(elsewhere);
  CHECK(elsewhere.parts_left() == 1);
  call heir;
  heir.number = 5;
  heir.want_bytes = 8;
  k.c.move_to(heir);
  REQUIRE(heir.pending());
  heir.allow_part();
  REQUIRE(w->until([&] { return elsewhere.parts_left() == 2; }));
  for (int part = 0; part < 3; ++part) elsewhere.reply_part(compose(*k.p.right->ep, {5, 0, 1}, 8));
  REQUIRE(w->until([&] { return heir.ends == 1; }));
  CHECK(heir.parts == 2);
  CHECK(heir.outcome == errc::malformed);
  if (elsewhere.open()) elsewhere.drop();
  k.p.right->in.held.clear();
  REQUIRE(k.p.quiet());
}

TEST_CASE("parts and permissions outlive a connection", "[reactor]") {
  const auto w = any_world({test::fault::part});
  counted k(*w, 1);
  for (int round = 1; round <= 5; ++round) {
    k.send_part();
    w->part(1, 2);
    w->pass(5ms);
    w->join(1, 2);
    REQUIRE(k.parts_are(round));
    k.c.allow_part();
    w->part(1, 2);
    w->pass(5ms);
    w->join(1, 2);
    REQUIRE(w->until([&] { return k.held().work.parts_left() == 1; }));
  }
  k.p.right->in.answer_all();
  REQUIRE(w->until([&] { return k.c.ends == 1; }));
  CHECK(k.c.answered());
  REQUIRE(k.p.quiet());
}
