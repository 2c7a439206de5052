#include <deque>

#include "scoll/coro/random.hpp"
#include "transfers.hpp"

using namespace transfers;

namespace {

void spoil(std::span<std::byte> memory) {
  test::fill(memory, poison);
}

/// Lets the links, and a reactor or a virtual clock, take a few steps.
void some_steps(world& w, random_generator& random) {
  int left = static_cast<int>(random.below(16));
  static_cast<void>(w.until([&] { return left-- <= 0; }, 5s));
}

}  // namespace

TEST_CASE("what is exposed no longer is not sent, however much of it is under way", "[reactor]") {
  const auto w = any_bulk_world();
  random_generator random(7);
  int stale = 0;
  for (int round = 0; round < 6; ++round) {
    two p(*w);
    fenced store(clean(3 * mebibyte, 1));
    std::optional<memory_region> region(p.exposed(store.memory()));
    fenced local(store.memory().size());
    const auto g = p.begin_pull(region->descriptor(), 0, local.memory());
    some_steps(*w, random);
    region.reset();
    spoil(store.memory());
    REQUIRE(w->until([&] { return g.done(); }));
    INFO("round " << round);
    CHECK((g->has_value() || g->error() == errc::stale_descriptor));
    stale += !g->has_value();
    CHECK_FALSE(spoiled(local.memory()));
    CHECK(local.intact());
    CHECK(p.right->ep->statistics().links_broken == 0);
    REQUIRE(p.quiet());
  }
  CHECK(stale > 0);
}

TEST_CASE("nothing uses the memory of a transfer that was stopped", "[reactor]") {
  const auto w = any_bulk_world();
  random_generator random(11);
  int stopped = 0;
  for (int round = 0; round < 6; ++round) {
    two p(*w);
    fenced store(clean(3 * mebibyte, 1));
    fenced target(clean(3 * mebibyte, 2));
    const auto readable = p.exposed(store.memory());
    const auto writable = p.exposed(target.memory());
    fenced into(store.memory().size());
    fenced source(clean(store.memory().size(), 3));
    stop_source stop;
    transfer_options options;
    options.stop = stop.token();
    options.checked = round % 2 == 1;
    const auto g = p.begin_pull(readable.descriptor(), 0, into.memory(), options);
    const auto s = p.begin_push(writable.descriptor(), 0, source.memory(), options);
    some_steps(*w, random);
    stop.request_stop();
    REQUIRE(w->until([&] { return g.done() && s.done(); }));
    stopped += !g->has_value() + !s->has_value();
    spoil(into.memory());
    spoil(source.memory());
    const bytes left_behind(into.memory().begin(), into.memory().end());
    // The connection continues: another transfer arrives whole, and nothing of the earlier ones arrives
    // before it.
    fenced after(mebibyte);
    REQUIRE(p.pull(readable.descriptor(), 0, after.memory()).has_value());
    CHECK(after.holds(store.memory().first(mebibyte)));
    INFO("round " << round);
    CHECK(into.holds(left_behind));
    CHECK_FALSE(spoiled(target.memory()));
    CHECK(target.intact());
    CHECK(p.right->ep->statistics().links_broken == 0);
    CHECK(p.left->ep->statistics().links_broken == 0);
    REQUIRE(p.quiet());
  }
  CHECK(stopped > 0);
}

TEST_CASE("a put into a region that goes away says what it may have done") {
  memory_world w(4096);
  int touched = 0;
  for (int steps = 0; steps < 30; ++steps) {
    two p(w);
    auto target = std::make_unique<fenced>(clean(mebibyte, 1));
    std::optional<memory_region> region(p.exposed(target->memory()));
    fenced source(clean(mebibyte, 2));
    // This is in the middle of a segment in most cases.
    int left = steps * 9;
    w.net.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte>) {
      if (left-- == 0) region.reset();
      return true;
    });
    const auto s = p.begin_push(region->descriptor(), 0, source.memory());
    REQUIRE(w.until([&] { return s.done() || !region.has_value(); }));
    region.reset();
    w.net.set_tamper({});
    const bool changed = !target->holds(clean(mebibyte, 1));
    target.reset();  // the address sanitizer detects any later access
    REQUIRE(w.until([&] { return s.done(); }));
    INFO("steps " << steps);
    if (changed) CHECK(s->may_have_written());
    touched += changed && !s->has_value();
    REQUIRE(p.quiet());
  }
  CHECK(touched > 0);
}

TEST_CASE("memory in many pieces, on both sides", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  random_generator random(3);
  constexpr std::size_t size = 3 * mebibyte;
  fenced store(made(size, 1));
  fenced into(size);
  const auto cut = [&](std::span<std::byte> memory) {
    std::vector<std::span<std::byte>> pieces;
    while (!memory.empty()) {
      const std::size_t n = std::min<std::size_t>(memory.size(), random.below(5000));
      pieces.push_back(memory.first(n));
      memory = memory.subspan(n);
    }
    return pieces;
  };
  const auto there = cut(store.memory());
  const auto here = cut(into.memory());
  REQUIRE(there.size() > 500);
  auto region = memory_region::expose(*p.right->ep, std::span<const std::span<std::byte>>(there),
                                      memory_access::read_write);
  REQUIRE(region.has_value());
  transfer_options options;
  options.checked = GENERATE(true, false);
  const std::span<const std::span<std::byte>> pieces(here);
  REQUIRE(finish(*w, pull(*p.left->ep, region->descriptor(), 0, pieces, options)).has_value());
  CHECK(into.holds(store.memory()));
  const bytes fresh = made(size, 5);
  std::ranges::copy(fresh, into.memory().begin());
  const std::vector<std::span<const std::byte>> sources(here.begin(), here.end());
  const std::span<const std::span<const std::byte>> list(sources);
  REQUIRE(finish(*w, push(*p.left->ep, region->descriptor(), 0, list, options)).has_value());
  CHECK(store.holds(fresh));
  REQUIRE(p.quiet());
}

TEST_CASE("altered bytes are found where checksums were asked for") {
  memory_world w;
  two p(w);
  const bool writes = GENERATE(false, true);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(made(mebibyte, 2));
  REQUIRE(p.pull(region.descriptor(), 0, local.memory().first(10)).has_value());
  std::uint64_t carried = 0;
  w.net.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte> chunk) {
    const bool hit = chunk.size() > 8000 && carried < 100'000 && carried + chunk.size() >= 100'000;
    carried += chunk.size();
    if (hit) chunk[chunk.size() / 2] ^= std::byte{1};
    return true;
  });
  transfer_options options;
  options.checked = true;
  if (writes) {
    const auto s = p.push(region.descriptor(), 0, local.memory(), options);
    CHECK(s.error() == errc::checksum_mismatch);
    CHECK(s.may_have_written());
  } else {
    CHECK(p.pull(region.descriptor(), 0, local.memory(), options).error() == errc::checksum_mismatch);
  }
  CHECK(p.left->ep->statistics().links_broken + p.right->ep->statistics().links_broken == 0);
  CHECK(p.pull(region.descriptor(), 0, local.memory(), options).has_value());
  CHECK(local.holds(store.memory()));
}

TEST_CASE("a segment in pieces allocates nothing at the receiver's side, whatever its size", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  const std::uint32_t segment = GENERATE(8193U, 1U << 20U);
  two p(w, [segment](endpoint_options& o) { o.transfer_segment_bytes = segment; });
  fenced store(made(4 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(4 * mebibyte);
  REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
  REQUIRE(p.push(region.descriptor(), 0, local.memory()).has_value());
  CHECK(local.holds(store.memory()));
  CHECK(p.left->ep->memory().buffers().lent() == 0);
  REQUIRE(p.quiet());
}

TEST_CASE("a server that dies under way ends transfers, and their memory is left alone", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w, [](endpoint_options& o) { o.reconnect_grace = 100ms; });
  fenced store(clean(8 * mebibyte, 1));
  fenced target(clean(8 * mebibyte, 2));
  const auto readable = p.exposed(store.memory());
  const auto writable = p.exposed(target.memory());
  fenced into(store.memory().size());
  fenced source(clean(store.memory().size(), 3));
  const auto g = p.begin_pull(readable.descriptor(), 0, into.memory());
  const auto s = p.begin_push(writable.descriptor(), 0, source.memory());
  // This is in the middle of both transfers.
  REQUIRE(w->until([&] {
    return into.memory()[300'000] != std::byte{0} && target.memory()[300'000] == source.memory()[300'000];
  }));
  p.right->stop();
  CHECK_FALSE(readable.exposed());
  REQUIRE(w->until([&] { return g.done() && s.done(); }, 5s));
  const auto lost = [](const error& e) {
    return e == errc::connection_lost || e == errc::unreachable || e == errc::closed;
  };
  if (!*g) CHECK(lost(g->error()));
  if (!*s) CHECK(lost(s->error()));
  CHECK(s->may_have_written());
  spoil(into.memory());
  spoil(source.memory());
  w->pass(10ms);
  CHECK(into.holds(bytes(into.memory().size(), poison)));
  CHECK_FALSE(spoiled(target.memory()));
}
