#include <fmt/format.h>

#include "piece_orders.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/wire/wire.hpp"

using namespace pieces;

TEST_CASE("an order for a piece waits until the piece is there", "[reactor]") {
  const auto w = any_bulk_world();
  piece_pair p(*w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  owner told;
  auto region = p.exposed_pieces(from.all(), &told);
  CHECK(region.pieces() == object_pieces);
  CHECK(region.descriptor().length == object_bytes);
  for (std::uint32_t i = 0; i < 4; ++i) p.ask(region, 10 - i, content::cut(into.memory(), 10 - i));
  REQUIRE(p.parks(4));
  CHECK_FALSE(region.published(10));
  region.publish(8, from.checksum(8));
  CHECK(p.parked() == 3);  // answered in this step
  CHECK(region.published(8));
  REQUIRE(p.ends(p.orders[2]));
  REQUIRE(p.orders[2].ok());
  CHECK(p.orders[2].checksum() == from.checksum(8));
  for (const std::uint32_t i : {7U, 9U, 10U}) region.publish(i, from.checksum(i));
  CHECK(p.parked() == 0);
  REQUIRE(p.all_end());
  for (std::uint32_t i = 7; i < object_pieces; ++i) {
    CHECK(p.orders[10 - i].ok());
    CHECK(test::same(content::cut(into.memory(), i), from.piece(i)));
  }
  for (std::uint32_t i = 0; i < 7; ++i) region.publish(i, from.checksum(i));
  for (std::uint32_t i = 0; i < 7; ++i) p.ask(region, i, content::cut(into.memory(), i));
  REQUIRE(p.all_end());
  CHECK(into.holds(from.all()));
  CHECK(told.orders.size() == 4);
  CHECK(told.answers.size() == object_pieces);
  REQUIRE(p.quiet());
}

TEST_CASE("an order that waits holds no credit") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto first = p.exposed_pieces(from.all());
  auto second = p.exposed_pieces(from.all());
  auto third = p.exposed_pieces(from.all());
  for (memory_region* region : {&first, &second, &third}) {
    for (std::uint32_t i = 0; i < 8; ++i) p.ask(*region, i, content::cut(into.memory(), i));
  }
  REQUIRE(p.parks(24));  // more than the class has credit
  // An ordinary pull passes them by.
  const auto plain = p.exposed(from.all());
  fenced local(object_bytes);
  CHECK(p.pull(plain.descriptor(), 0, local.memory()).has_value());
  CHECK(local.holds(from.all()));
  CHECK(p.source().credit(traffic_class::bulk) != 0);
  for (order& o : p.orders) o.take_back();
  REQUIRE(p.parks(0));
  REQUIRE(p.quiet());
  CHECK(p.source().credit(traffic_class::bulk) == p.right->ep->options().window[3]);
}

TEST_CASE("pieces pass down a chain as they land, with the checksum of their source", "[reactor]") {
  const auto w = any_bulk_world();
  constexpr node_id last = 5;
  std::deque<node> nodes;
  for (node_id id = 1; id <= last; ++id) nodes.emplace_back(*w, options_of(id));
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) introduce(nodes[i], nodes[i + 1]);
  content from(object_bytes, 1);
  struct member {
    std::optional<fenced> place;
    memory_region region;
    std::deque<order> orders;
    std::uint32_t landed = 0;
  };
  std::deque<member> members(last);
  piece_options options;
  options.piece_bytes = piece_bytes;
  members[0].region = std::move(*memory_region::expose_pieces(*nodes[0].ep, from.all(), options));
  std::uint32_t least_behind = object_pieces;
  for (std::size_t i = 1; i < last; ++i) {
    member& m = members[i];
    m.place.emplace(object_bytes);
    m.region = std::move(*memory_region::expose_pieces(*nodes[i].ep, m.place->memory(), options));
    for (std::uint32_t piece = 0; piece < object_pieces; ++piece) {
      order& o = m.orders.emplace_back(*nodes[i].ep);
      o.then = [&m](order& done) {
        m.region.publish(done.piece(), done.checksum());
        ++m.landed;
      };
      o.ask(nodes[i].to(i), members[i - 1].region.descriptor(), piece,
            content::cut(m.place->memory(), piece));
    }
  }
  for (std::uint32_t piece = 0; piece < object_pieces; ++piece) {
    members[0].region.publish(piece, from.checksum(piece));
    REQUIRE(w->until([&] { return members[1].landed > piece; }));
    least_behind = std::min(least_behind, object_pieces - members[last - 1].landed);
  }
  REQUIRE(w->until([&] { return members[last - 1].landed == object_pieces; }));
  for (std::size_t i = 1; i < last; ++i) CHECK(members[i].place->holds(from.all()));
  // The end of the chain did not wait for the last piece, unless this world is slower than publishing.
  if (w->can(test::fault::haste)) CHECK(least_behind < object_pieces);
}

TEST_CASE("a byte that a node alters after it has verified a piece is found by its consumer", "[reactor]") {
  const auto w = any_bulk_world();
  piece_pair p(*w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  const std::uint32_t piece = GENERATE(0U, 10U);
  const bool small = piece == 10;
  if (small) {
    from = content(10 * piece_bytes + 5000, 1);
    region = p.exposed_pieces(from.all());
  }
  const std::uint64_t checksum = from.checksum(piece);
  order& o = p.ask(region, piece, content::cut(into.memory(), piece).first(from.piece(piece).size()));
  REQUIRE(p.parks(1));
  from.piece(piece)[777] ^= std::byte{1};
  region.publish(piece, checksum);
  REQUIRE(p.ends(o));
  REQUIRE(o.code() == errc::checksum_mismatch);
  CHECK(o.outcome().error().text() == fmt::format("piece {} from node 2 differs from its checksum", piece));
  CHECK(p.left->ep->statistics().links_broken + p.right->ep->statistics().links_broken == 0);
  CHECK(p.left->ep->statistics().requests_sent == 2);  // it was ordered once more
  from.piece(piece)[777] ^= std::byte{1};
  order& again = p.ask(region, piece, content::cut(into.memory(), piece).first(from.piece(piece).size()));
  REQUIRE(p.ends(again));
  CHECK(again.ok());
  CHECK(again.checksum() == checksum);
}

TEST_CASE("a byte that is altered on its way costs one more order") {
  memory_world w;
  piece_pair p(w);
  content from(piece_bytes * 2, 1);
  fenced into(piece_bytes * 2);
  auto region = p.exposed_pieces(from.all());
  region.publish(1, from.checksum(1));
  region.publish(0, from.checksum(0));
  order& first = p.ask(region, 0, content::cut(into.memory(), 0));
  REQUIRE(p.ends(first));
  bool altered = false;
  w.net.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte> chunk) {
    if (!altered && chunk.size() > 8000) {
      altered = true;
      chunk[chunk.size() / 2] ^= std::byte{4};
    }
    return true;
  });
  order& second = p.ask(region, 1, content::cut(into.memory(), 1));
  REQUIRE(p.ends(second));
  CHECK(altered);
  CHECK(second.ok());
  CHECK(into.holds(from.all()));
  CHECK(p.left->ep->statistics().requests_sent == 3);
}

TEST_CASE("an order says whether its peer has lost a source") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  owner told;
  auto region = p.exposed_pieces(from.all(), &told);
  told.then = [&](std::uint32_t piece) { region.publish(piece, from.checksum(piece)); };
  p.ask(region, 3, content::cut(into.memory(), 3), true);
  p.ask(region, 4, content::cut(into.memory(), 4));
  REQUIRE(p.all_end());
  REQUIRE(told.orders.size() == 2);
  CHECK(told.orders[0].piece == 3);
  CHECK(told.orders[0].by == 1);
  CHECK(told.orders[0].up);
  CHECK(told.orders[1].piece == 4);
  CHECK_FALSE(told.orders[1].up);
  CHECK(p.orders[0].ok());
  CHECK(p.orders[1].ok());
}

TEST_CASE("a complete region hashes what is ordered, one piece in each step") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all(), nullptr, true);
  for (std::uint32_t i = 0; i < 8; ++i) p.ask(region, i, content::cut(into.memory(), i));
  REQUIRE(p.all_end());
  for (std::uint32_t i = 0; i < 8; ++i) {
    CHECK(p.orders[i].ok());
    CHECK(p.orders[i].checksum() == from.checksum(i));
    CHECK(region.published(i));
  }
  CHECK_FALSE(region.published(8));
  // It is hashed once: a byte that changes afterwards is found.
  from.piece(2)[5] ^= std::byte{1};
  order& late = p.ask(region, 2, content::cut(into.memory(), 2));
  REQUIRE(p.ends(late));
  CHECK(late.code() == errc::checksum_mismatch);
}

TEST_CASE("orders that make no sense are refused") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  auto region = p.exposed_pieces(from.all());
  region.publish(0, from.checksum(0));
  const auto plain = p.exposed(from.all());
  fenced into(2 * piece_bytes);
  const auto code = [&](const region_descriptor& d, std::uint32_t piece, std::size_t bytes) {
    order& o = p.add();
    o.ask(p.source(), d, piece, into.memory().first(bytes));
    REQUIRE(p.ends(o));
    return o.code();
  };
  const auto d = region.descriptor();
  CHECK(code(d, 0, piece_bytes - 1) == errc::invalid_argument);
  CHECK(code(d, 0, piece_bytes + 1) == errc::invalid_argument);
  CHECK(code(d, 0, 2 * piece_bytes) == errc::invalid_argument);
  CHECK(code(d, 0, 0) == errc::invalid_argument);
  CHECK(code(d, 10, piece_bytes) == errc::invalid_argument);  // the last piece is shorter
  CHECK(code(d, 11, 1) == errc::invalid_argument);
  CHECK(code(d, UINT32_MAX, piece_bytes) == errc::invalid_argument);
  CHECK(code(plain.descriptor(), 0, piece_bytes) == errc::invalid_argument);
  auto forged = d;
  forged.generation += 100;
  CHECK(code(forged, 0, piece_bytes) == errc::stale_descriptor);
  forged = d;
  forged.incarnation += 1;
  CHECK(code(forged, 0, piece_bytes) == errc::stale_descriptor);
  forged = d;
  forged.region = 1000;
  CHECK(code(forged, 0, piece_bytes) == errc::not_found);
  CHECK(p.pull(d, 0, into.memory()).error() == errc::invalid_argument);
  CHECK(p.parked() == 0);
  CHECK(code(d, 0, piece_bytes) == errc::ok);
  CHECK(p.left->ep->statistics().links_broken + p.right->ep->statistics().links_broken == 0);
}

TEST_CASE("the head of an order has its 34 bytes") {
  const piece_head head{{memory_order_kind::piece_get, 1, 2, 3, 65536, 65536}, piece_head::up};
  std::array<std::byte, 64> space{};
  REQUIRE(*wire::encode_to(space, head) == piece_head_bytes);
  const std::array<unsigned, piece_head_bytes> golden{4, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0,
                                                      0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1};
  for (std::size_t i = 0; i < golden.size(); ++i) CHECK(space[i] == static_cast<std::byte>(golden[i]));
  for (std::size_t cut = 0; cut < piece_head_bytes; ++cut) {
    CHECK_FALSE(wire::decode_from<piece_head>(std::span<const std::byte>(space).first(cut)).has_value());
  }
}

TEST_CASE("memory is exposed in pieces only as they fit") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  bytes memory(4 * piece_bytes);
  const auto refused = [&](const piece_options& options, std::span<std::byte> of) {
    return memory_region::expose_pieces(*p.right->ep, of, options).error().code();
  };
  piece_options options;
  for (const std::uint32_t wrong : {0U, 1U, 32768U, 65537U, 98304U, 2U << 20U}) {
    options.piece_bytes = wrong;
    CHECK(refused(options, memory) == errc::invalid_argument);
  }
  options.piece_bytes = piece_bytes;
  options.length_in_slots = 100 * piece_bytes;
  CHECK(refused(options, memory) == errc::invalid_argument);  // one slot, of another object_bytes
  options.length_in_slots = std::uint64_t{most_pieces} * piece_bytes + 1;
  CHECK(refused(options, std::span(memory).first(piece_bytes)) == errc::invalid_argument);
  options.length_in_slots -= 1;
  CHECK(memory_region::expose_pieces(*p.right->ep, std::span<const std::byte>(memory).first(piece_bytes),
                                     options)
            .has_value());
  options.complete = true;  // the memory of a region in slots does not hold all pieces
  CHECK(refused(options, std::span(memory).first(piece_bytes)) == errc::invalid_argument);
  options = {};
  CHECK(memory_region::expose_pieces(*p.right->ep, std::span<const std::byte>(), options)->pieces() == 0);
}

namespace {

/// Orders all pieces again and again, and counts what that allocates.
struct rounds {
  rounds(piece_pair& p, memory_region& region, std::span<std::byte> into) : region_(region), into_(into) {
    for (std::uint32_t i = 0; i < object_pieces; ++i) {
      order& o = p.add();
      o.then = [this, &p](order& done) {
        if (++ended_ % (object_pieces * 4) == 0) {
          ++laps;
          const std::size_t now = allocation_counter::on_this_thread();
          allocated = now - std::exchange(before_, now);
        }
        if (laps < 3)
          done.ask(p.source(), region_.descriptor(), done.piece(), content::cut(into_, done.piece()));
      };
      o.ask(p.source(), region.descriptor(), i, content::cut(into, i));
    }
  }
  int laps = 0;
  std::size_t allocated = 1;

 private:
  memory_region& region_;
  std::span<std::byte> into_;
  std::uint32_t ended_ = 0;
  std::size_t before_ = 0;
};

}  // namespace

TEST_CASE("orders over TCP allocate nothing in a steady state", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  piece_pair p(w);
  content from(object_bytes, 1);
  auto region = p.exposed_pieces(from.all());
  for (std::uint32_t i = 0; i < object_pieces; ++i) region.publish(i, from.checksum(i));
  fenced into(object_bytes);
  const rounds r(p, region, into.memory());
  REQUIRE(w.until([&] { return r.laps == 3; }));
  CHECK(r.allocated == 0);
  CHECK(into.holds(from.all()));
}

TEST_CASE("regions in pieces come and go without allocations") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  std::size_t allocated = 0;
  for (int i = 0; i < 4; ++i) {
    const std::size_t before = allocation_counter::on_this_thread();
    piece_options options;
    options.piece_bytes = piece_bytes;
    auto region = memory_region::expose_pieces(*p.right->ep, from.all(), options);
    region->publish(0, 1);
    region->unexpose();
    allocated = allocation_counter::on_this_thread() - before;
  }
  CHECK(allocated == 0);
}

TEST_CASE("hardware reads pieces, and compares them with the checksum that they were verified with") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  piece_pair p(w);
  content from(object_bytes, 1);
  fenced into(object_bytes);
  auto region = p.exposed_pieces(from.all());
  for (std::uint32_t i = 0; i < object_pieces; ++i) region.publish(i, from.checksum(i));
  for (std::uint32_t i = 0; i < object_pieces; ++i) p.ask(region, i, content::cut(into.memory(), i));
  REQUIRE(p.all_end());
  for (const order& o : p.orders) CHECK(o.ok());
  CHECK(into.holds(from.all()));
  CHECK(p.left->ep->statistics().read_bytes == object_bytes);
  CHECK(p.right->ep->statistics().grants == object_pieces);
  from.piece(3)[100] ^= std::byte{1};
  order& altered = p.ask(region, 3, content::cut(into.memory(), 3));
  REQUIRE(p.ends(altered));
  CHECK(altered.code() == errc::checksum_mismatch);
  CHECK(p.right->ep->statistics().grants == object_pieces + 2);
  REQUIRE(p.quiet());
}

TEST_CASE("an order for a piece that is taken back while hardware reads leaves its right in order") {
  const auto what = any_hardware();
  for (int steps = 0; steps < 40; ++steps) {
    const auto made_world = make_memory_world(what, {.slabs = 4, .slab_bytes = piece_bytes});
    memory_world& w = *made_world;
    w.net.common_path().model.ps_per_byte = 500;  // 33 us for a piece
    piece_pair p(w);
    content from(object_bytes, 1);
    auto into = std::make_unique<fenced>(object_bytes);
    auto region = p.exposed_pieces(from.all());
    for (std::uint32_t i = 0; i < object_pieces; ++i) region.publish(i, from.checksum(i));
    order& first = p.ask(region, 0, content::cut(into->memory(), 0));
    REQUIRE(p.ends(first));
    for (std::uint32_t i = 0; i < 8; ++i) p.ask(region, i, content::cut(into->memory(), i));
    w.pass(steps * 7us);
    p.orders.clear();
    into.reset();  // the address sanitizer detects any later access
    fenced after(piece_bytes);
    REQUIRE(p.ends(p.ask(region, 1, after.memory())));
    CHECK(after.holds(from.piece(1)));
    INFO("steps " << steps);
    REQUIRE(w.until([&] {
      return p.right->ep->memory().giver().out() == 0 && p.left->ep->memory().readers().running() == 0;
    }));
    CHECK(w.access_errors() == 0);
    CHECK(p.left->ep->statistics().links_broken + p.left->ep->statistics().forced_fences == 0);
    REQUIRE(p.quiet());
  }
}
