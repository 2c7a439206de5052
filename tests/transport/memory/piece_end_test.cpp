#include <optional>

#include "piece_orders.hpp"

using namespace pieces;

TEST_CASE("more orders of one peer than may wait are answered busy, and sent again until they are served",
          "[reactor]") {
  const auto w = any_bulk_world();
  piece_pair p(*w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  for (std::uint32_t i = 0; i < object_pieces; ++i) p.ask(region, i, content::cut(into.memory(), i));
  REQUIRE(p.parks(8));
  w->pass(30ms);
  CHECK(p.parked() == 8);
  CHECK(std::ranges::none_of(p.orders, [](const order& o) { return o.done(); }));
  for (std::uint32_t i = 0; i < object_pieces; ++i) region.publish(i, from.checksum(i));
  REQUIRE(p.all_end());
  for (order& o : p.orders) CHECK(o.ok());
  CHECK(into.holds(from.all()));
  CHECK(p.parked() == 0);
  REQUIRE(p.quiet());
}

TEST_CASE("an order is sent again after 1 to 50 ms while it is answered busy") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w, [](endpoint_options& o) { o.parked_limit = 1; });
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  p.ask(region, 0, content::cut(into.memory(), 0));
  REQUIRE(p.parks(1));
  const std::uint64_t before = p.left->ep->statistics().requests_sent;
  order& second = p.ask(region, 1, content::cut(into.memory(), 1));
  w.pass(3500us);  // after 1 and 2 ms
  CHECK(p.left->ep->statistics().requests_sent - before == 3);
  w.pass(1s);
  const std::uint64_t sent = p.left->ep->statistics().requests_sent - before;
  CHECK(sent >= 20);
  CHECK(sent <= 30);
  CHECK(p.parked() == 1);
  p.orders[0].take_back();
  REQUIRE(w.until([&] { return p.parked() == 1 && p.left->ep->statistics().requests_sent > before + sent; }));
  region.publish(1, from.checksum(1));
  REQUIRE(p.ends(second));
  CHECK(second.ok());
}

TEST_CASE("a region that fails answers those that wait and those that come") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  region.publish(4, from.checksum(4));
  order& waiting = p.ask(region, 1, content::cut(into.memory(), 1));
  REQUIRE(p.parks(1));
  region.fail({errc::hook_failed, "prepare refused"});
  CHECK(p.parked() == 0);
  order& late = p.ask(region, 4, content::cut(into.memory(), 4));
  REQUIRE(p.all_end());
  for (const order* o : {&waiting, &late}) {
    CHECK(o->code() == errc::hook_failed);
    CHECK(o->outcome().error().text() == "prepare refused");
  }
  CHECK(into.holds(bytes(object_bytes)));
}

TEST_CASE("orders end with their region, at every moment") {
  const auto what = GENERATE(hardware::none, hardware::simple, hardware::rdma_devices);
  int stale = 0;
  int arrived = 0;
  for (int steps = 0; steps < 40; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    piece_pair p(w);
    content from(object_bytes, 1);
    auto copy = std::make_unique<bytes>(from.all().begin(), from.all().end());
    fenced into(object_bytes);
    std::optional<memory_region> region(p.exposed_pieces(*copy));
    for (std::uint32_t i = 0; i < 8; ++i) p.ask(*region, i, content::cut(into.memory(), i));
    w.pass(steps * 5us);
    for (std::uint32_t i = 0; i < 4; ++i) region->publish(i, from.checksum(i));
    w.pass(steps * 2us);
    region.reset();
    CHECK(p.parked() == 0);
    copy.reset();  // the address sanitizer detects any later access
    REQUIRE(p.all_end());
    for (std::uint32_t i = 0; i < 8; ++i) {
      CHECK((p.orders[i].ok() || p.orders[i].code() == errc::stale_descriptor));
      if (p.orders[i].ok()) CHECK(test::same(content::cut(into.memory(), i), from.piece(i)));
      if (i >= 4) CHECK_FALSE(p.orders[i].ok());
      stale += !p.orders[i].ok();
      arrived += p.orders[i].ok();
    }
    CHECK(into.intact());
    REQUIRE(p.quiet());
  }
  CHECK(stale > 100);
  CHECK(arrived > 20);
}

TEST_CASE("an order that is taken back is written to by nobody, at every moment", "[reactor]") {
  const auto w = any_bulk_world();
  piece_pair p(*w);
  content from(object_bytes, 1);
  auto region = p.exposed_pieces(from.all());
  for (std::uint32_t i = 0; i < 5; ++i) region.publish(i, from.checksum(i));
  for (int steps = 0; steps < 20; ++steps) {
    fenced into(object_bytes);
    for (std::uint32_t i = 0; i < 8; ++i) p.ask(region, i, content::cut(into.memory(), i));
    int left = steps;
    static_cast<void>(w->until([&] { return left-- <= 0; }, 5s));
    p.orders.clear();
    const bytes left_behind(into.memory().begin(), into.memory().end());
    REQUIRE(p.parks(0));
    fenced after(piece_bytes);
    order& next = p.ask(region, 0, after.memory());
    REQUIRE(p.ends(next));
    CHECK(after.holds(from.piece(0)));
    CHECK(into.holds(left_behind));
    p.orders.clear();
  }
  REQUIRE(p.quiet());
}

TEST_CASE("an order that waits for a pause ends when it is taken back") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w, [](endpoint_options& o) { o.parked_limit = 1; });
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  p.ask(region, 0, content::cut(into.memory(), 0));
  REQUIRE(p.parks(1));
  order& second = p.ask(region, 1, content::cut(into.memory(), 1));
  w.pass(500us);
  second.take_back();
  CHECK_FALSE(second.under_way());
  const std::uint64_t sent = p.left->ep->statistics().requests_sent;
  w.pass(100ms);
  CHECK(p.left->ep->statistics().requests_sent == sent);
  CHECK(second.ends == 0);
}

TEST_CASE("orders that wait outlive a broken connection, and end with their session") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  order& o = p.ask(region, 2, content::cut(into.memory(), 2));
  REQUIRE(p.parks(1));
  const bool comes_back = GENERATE(true, false);
  if (comes_back) {
    w.net.cut(1, 2);
    w.pass(1ms);
    region.publish(2, from.checksum(2));
    REQUIRE(p.ends(o));
    CHECK(o.ok());
    CHECK(test::same(content::cut(into.memory(), 2), from.piece(2)));
  } else {
    w.net.refuse(1, 2);
    w.net.refuse(2, 1);
    w.net.cut(1, 2);
    REQUIRE(p.ends(o));
    CHECK(o.code() == errc::connection_lost);
    w.net.admit(1, 2);
    w.net.admit(2, 1);
    REQUIRE(p.parks(0));  // the next connection tells the other side
    order& again = p.ask(region, 2, content::cut(into.memory(), 2));
    REQUIRE(p.parks(1));
    region.publish(2, from.checksum(2));
    REQUIRE(p.ends(again));
    CHECK(again.ok());
  }
  REQUIRE(p.quiet());
}

TEST_CASE("orders end with the endpoint of either side") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  order& o = p.ask(region, 2, content::cut(into.memory(), 2));
  REQUIRE(p.parks(1));
  SECTION("the owner's is destroyed") {
    p.right->stop();
    CHECK_FALSE(region.exposed());
    REQUIRE(p.ends(o));
    CHECK_FALSE(o.ok());
  }
  SECTION("the owner's drains") {
    CHECK(finish(w, p.right->ep->drain(1s)).has_value());
    REQUIRE(p.ends(o));
    CHECK(o.code() == errc::closed);
  }
  SECTION("the requester's is destroyed") {
    p.left->to(2).declare_dead(1);
    REQUIRE(p.ends(o));
    CHECK(o.code() == errc::peer_died);
    order& refused = p.ask(region, 2, content::cut(into.memory(), 2));
    CHECK_FALSE(refused.done());  // never from inside the call
    REQUIRE(p.ends(refused));
    CHECK(refused.code() == errc::peer_died);
    p.orders.clear();
    p.left->stop();
    // Nothing is owed to a peer that is gone without a word, until liveness says so or the region ends.
    p.right->to(1).declare_dead(1);
    CHECK(p.parked() == 0);
  }
}

TEST_CASE("pieces pass through slots") {
  memory_world w;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced slots(3 * piece_bytes);
  std::vector<std::span<std::byte>> places;
  for (std::uint32_t i = 0; i < 3; ++i) places.push_back(content::cut(slots.memory(), i));
  owner told;
  piece_options options;
  options.piece_bytes = piece_bytes;
  options.length_in_slots = object_bytes;
  options.events = &told;
  auto exposed =
      memory_region::expose_pieces(*p.right->ep, std::span<const std::span<std::byte>>(places), options);
  REQUIRE(exposed.has_value());
  memory_region& region = *exposed;
  CHECK(region.size() == object_bytes);
  CHECK(region.pieces() == object_pieces);
  fenced into(object_bytes);
  for (std::uint32_t i = 0; i < 8; ++i) p.ask(region, i, content::cut(into.memory(), i));
  REQUIRE(p.parks(8));
  for (std::uint32_t i = 0; i < object_pieces; ++i) {
    if (i >= 3) {
      // The slot is free when the only consumer has acknowledged what was in it.
      REQUIRE(w.until([&] { return std::ranges::find(told.returns, i - 3) != told.returns.end(); }));
      region.retire(i - 3);
    }
    const auto place = places[i % 3].first(from.piece(i).size());
    std::ranges::copy(from.piece(i), place.begin());
    if (i >= 8) p.ask(region, i, content::cut(into.memory(), i));
    region.publish(i, from.checksum(i));
  }
  REQUIRE(p.all_end());
  for (order& o : p.orders) CHECK(o.ok());
  CHECK(into.holds(from.all()));
  REQUIRE(w.until([&] { return told.returns.size() == object_pieces; }));
  CHECK(std::ranges::is_sorted(told.returns));
  order& late = p.ask(region, 0, content::cut(into.memory(), 0), true);
  REQUIRE(p.ends(late));
  CHECK(late.code() == errc::stale);
  order& there = p.ask(region, object_pieces - 1, content::cut(into.memory(), object_pieces - 1), true);
  REQUIRE(p.ends(there));
  CHECK(there.ok());
  REQUIRE(p.quiet());
}

TEST_CASE("a slot that is retired while a piece is under way is not sent any further") {
  const auto what = GENERATE(hardware::none, hardware::simple, hardware::rdma_devices);
  int stale = 0;
  int arrived = 0;
  for (int steps = 0; steps < 30; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    piece_pair p(w);
    content from(4 * piece_bytes, 1);
    fenced slot(piece_bytes);
    std::ranges::copy(from.piece(0), slot.memory().begin());
    piece_options options;
    options.piece_bytes = piece_bytes;
    options.length_in_slots = from.all().size();
    auto region = memory_region::expose_pieces(*p.right->ep, slot.memory(), options);
    REQUIRE(region.has_value());
    region->publish(0, from.checksum(0));
    fenced into(piece_bytes);
    order& o = p.ask(*region, 0, into.memory());
    w.pass(steps * 4us);
    region->retire(0);
    test::fill(slot.memory(), std::byte{0xee});
    REQUIRE(p.ends(o));
    CHECK((o.ok() || o.code() == errc::stale_descriptor || o.code() == errc::stale));
    if (o.ok()) CHECK(into.holds(from.piece(0)));
    stale += !o.ok();
    arrived += o.ok();
    REQUIRE(p.quiet());
  }
  CHECK(stale > 0);
  CHECK(arrived > 0);
}
