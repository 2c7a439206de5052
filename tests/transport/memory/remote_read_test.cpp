#include <deque>
#include <optional>

#include "piece_orders.hpp"
#include "transport/wire/wire.hpp"

using namespace pieces;

namespace {

constexpr std::size_t mebibyte = 1U << 20U;
constexpr std::byte poison{0xee};

bytes clean(std::size_t size, std::uint64_t salt) {
  bytes b = made(size, salt);
  test::replace(b, poison, std::byte{1});
  return b;
}

/// Few small slabs, so that everything waits for them.
sim_remote_options narrow() {
  sim_remote_options o;
  o.slabs = 4;
  o.slab_bytes = 65536;
  o.depth = 2;
  o.piece_bytes = 10000;
  return o;
}

}  // namespace

TEST_CASE("large segments are read by right, and small ones travel as ever") {
  const auto w = remote_world();
  two p(*w);
  fenced store(made(10 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  for (const std::size_t size : {std::size_t{1}, std::size_t{8192}}) {
    fenced local(size);
    REQUIRE(p.pull(region.descriptor(), 77, local.memory()).has_value());
    CHECK(local.holds(store.memory().subspan(77, size)));
  }
  CHECK(w->net.bytes_read() == 0);
  transfer_options options;
  options.checked = GENERATE(false, true);
  fenced local(10 * mebibyte - 5);
  const std::uint64_t before = p.right->ep->statistics().bytes_sent;
  REQUIRE(p.pull(region.descriptor(), 5, local.memory(), options).has_value());
  CHECK(local.holds(store.memory().subspan(5)));
  CHECK(w->net.bytes_read() == local.memory().size());
  CHECK(p.right->ep->statistics().bytes_sent - before < 40 * 300);
  CHECK(p.right->ep->statistics().grants == 40);
  CHECK(p.left->ep->statistics().read_bytes == local.memory().size());
  CHECK(p.left->ep->statistics().reads >= 40);
  REQUIRE(p.quiet());
  CHECK(p.left->to(2).credit(traffic_class::bulk) == p.right->ep->options().window[3]);
}

TEST_CASE("segments larger than a slab, and pulls both ways with few slabs") {
  const auto w = remote_world(narrow());
  two p(*w);
  constexpr std::size_t size = 3 * mebibyte + 12345;
  std::deque<fenced> stores;
  std::deque<fenced> locals;
  std::deque<memory_region> regions;
  std::deque<started<status>> gets;
  for (std::uint64_t i = 0; i < 6; ++i) {
    node& here = i % 2 == 0 ? *p.left : *p.right;
    node& there = i % 2 == 0 ? *p.right : *p.left;
    stores.emplace_back(made(size, i));
    locals.emplace_back(size);
    regions.push_back(std::move(*memory_region::expose(*there.ep, stores.back().memory())));
    gets.emplace_back(w->ex(), pull(*here.ep, regions.back().descriptor(), 0, locals.back().memory()));
  }
  REQUIRE(w->until([&] { return std::ranges::all_of(gets, [](const auto& g) { return g.done(); }); }, 60s));
  CHECK(w->net.bytes_read() == 6 * size);
  transfer_options beyond;  // a segment for which a right has too few extents
  beyond.segment_bytes = mebibyte;
  fenced last(size);
  REQUIRE(p.pull(regions[0].descriptor(), 0, last.memory(), beyond).has_value());
  CHECK(last.holds(stores[0].memory()));
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(gets[i]->has_value());
    CHECK(locals[i].holds(stores[i].memory()));
  }
  REQUIRE(p.quiet());
}

TEST_CASE("plain memory keeps its rules while READs are under way, at every moment") {
  int stale = 0;
  int stopped = 0;
  int whole = 0;
  for (int steps = 0; steps < 60; ++steps) {
    const auto w = remote_world(narrow());
    two p(*w);
    auto store = std::make_unique<fenced>(clean(mebibyte, 1));
    const bytes expected(store->memory().begin(), store->memory().end());
    std::optional<memory_region> region(p.exposed(store->memory()));
    fenced first(mebibyte);
    fenced second(mebibyte);
    stop_source stop;
    transfer_options options;
    options.stop = stop.token();
    const auto kept = p.begin_pull(region->descriptor(), 0, first.memory());
    const auto ended = p.begin_pull(region->descriptor(), 0, second.memory(), options);
    w->pass(steps * 17us);
    stop.request_stop();
    w->clock.run_now();
    REQUIRE(ended.done());  // at once: READs bring nothing to its memory any more
    const bytes left_behind(second.memory().begin(), second.memory().end());
    w->pass(steps * 5us);
    region.reset();
    test::fill(store->memory(), poison);
    store.reset();  // the address sanitizer detects any later access
    REQUIRE(w->until([&] { return kept.done(); }));
    INFO("steps " << steps);
    CHECK((kept->has_value() || kept->error() == errc::stale_descriptor));
    CHECK_FALSE(test::holds_any(first.memory(), poison));
    if (*kept) CHECK(first.holds(expected));
    REQUIRE(p.quiet());
    CHECK(second.holds(left_behind));
    stale += !kept->has_value();
    whole += kept->has_value();
    stopped += !ended->has_value();
  }
  CHECK(stale > 5);
  CHECK(whole > 5);
  CHECK(stopped > 5);
}

TEST_CASE("a link that is cut under READs costs no byte, at every moment") {
  std::uint64_t again = 0;
  for (int steps = 1; steps < 60; ++steps) {
    const auto w = remote_world(narrow());
    two p(*w);
    fenced store(made(mebibyte, 1));
    const auto region = p.exposed(store.memory());
    fenced local(mebibyte);
    const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
    for (int cuts = 0; cuts < 3; ++cuts) {
      w->pass(steps * 13us);
      w->net.cut(1, 2);
    }
    REQUIRE(w->until([&] { return g.done(); }));
    INFO("steps " << steps);
    CHECK(g->has_value());
    CHECK(local.holds(store.memory()));
    again += p.left->ep->statistics().requests_sent;
    REQUIRE(p.quiet());
  }
  CHECK(again > 59 * 4 + 20);  // some segments were ordered anew
}

TEST_CASE("endpoints end under READs, at every moment") {
  for (int steps = 0; steps < 40; ++steps) {
    const auto w = remote_world(narrow());
    two p(*w);
    fenced store(made(mebibyte, 1));
    auto region = p.exposed(store.memory());
    fenced local(mebibyte);
    const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
    w->pass(steps * 19us);
    (steps % 2 == 0 ? p.left : p.right)->stop();
    REQUIRE(w->until([&] { return g.done(); }));
    const bytes left_behind(local.memory().begin(), local.memory().end());
    w->pass(10ms);
    CHECK(local.holds(left_behind));
  }
}

TEST_CASE("a peer that keeps its rights is cut off when others need the slabs") {
  const auto w = remote_world(narrow());
  two p(*w);
  endpoint_options o = options_of(3);
  o.transfer_segment_bytes = segment_bytes;
  node third(*w, o);
  introduce(third, *p.right);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced stuck(mebibyte);
  const started<status> hog(w->ex(), pull(*third.ep, region.descriptor(), 0, stuck.memory()));
  REQUIRE(w->until([&] { return p.right->ep->memory().rights().out() != 0; }));
  w->net.freeze(3);
  fenced local(mebibyte);
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  REQUIRE(w->until([&] { return g.done(); }, 3s));
  CHECK(g->has_value());
  CHECK(local.holds(store.memory()));
  w->net.thaw(3);
  REQUIRE(w->until([&] { return hog.done(); }));
  CHECK(hog->has_value());
  CHECK(stuck.holds(store.memory()));
  REQUIRE(p.quiet());
}

TEST_CASE("a READ of what no right gives breaks the link, and only that") {
  const auto w = remote_world();
  two p(*w);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(mebibyte);
  REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
  struct forged final : remote_read {
    forged() noexcept : remote_read(&note) {}
    static void note(remote_read& r, const status& outcome) noexcept {
      auto& self = static_cast<forged&>(r);
      ++self.ends;
      self.failed = !outcome;
    }
    int ends = 0;
    bool failed = false;
  } read;
  bytes into(100, poison);
  read.from = {reinterpret_cast<std::uintptr_t>(store.memory().data()), 4711, 100};
  read.into = {into, nullptr};
  remote_access* const link = p.left->to(2).remote();
  REQUIRE(link != nullptr);
  link->read(read);
  CHECK(read.ends == 0);
  REQUIRE(w->until([&] { return read.ends == 1; }));
  CHECK(read.failed);
  CHECK(into == bytes(100, poison));
  CHECK(w->net.remote_violations() == 1);
  REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
  CHECK(local.holds(store.memory()));
  REQUIRE(p.quiet());
}

TEST_CASE("pieces are read by right, and a byte altered in memory is found") {
  const auto w = remote_world(narrow());
  pair p(*w);
  content from(10 * piece_bytes + 12345, 1);
  fenced into(from.all().size());
  auto region = p.exposed_pieces(from.all());
  for (std::uint32_t i = 0; i < from.count(); ++i) p.ask(region, i, content::cut(into.memory(), i));
  REQUIRE(p.parks(8));
  for (std::uint32_t i = 0; i < from.count(); ++i) region.publish(i, from.checksum(i));
  REQUIRE(p.all_end());
  for (order& o : p.orders) {
    CHECK(o.ok());
    CHECK(o.checksum() == from.checksum(o.piece()));
  }
  CHECK(into.holds(from.all()));
  CHECK(w->net.bytes_read() == from.all().size());
  from.piece(3)[99] ^= std::byte{1};
  order& altered = p.ask(region, 3, content::cut(into.memory(), 3));
  REQUIRE(p.ends(altered));
  CHECK(altered.code() == errc::checksum_mismatch);
  REQUIRE(p.quiet());
}

TEST_CASE("a right has 14 bytes and 16 for each extent") {
  memory_right right;
  right.link = 1;
  right.flags = memory_right::checked;
  right.checksum = 2;
  for (std::uint8_t count = 1; count <= read_grant::most_extents; ++count) {
    right.count = count;
    right.extents[count - 1] = {count, 7, 8};
    std::array<std::byte, 128> space{};
    const auto size = wire::encode_to(space, right);
    REQUIRE(size.has_value());
    CHECK(*size == 14U + 16U * count);
    const auto again = wire::decode_from<memory_right>(std::span<const std::byte>(space).first(*size));
    REQUIRE(again.has_value());
    CHECK(again->length() == 8U * count);
    for (std::size_t cut = 0; cut < *size; ++cut)
      CHECK_FALSE(wire::decode_from<memory_right>(std::span<const std::byte>(space).first(cut)).has_value());
  }
}
