#include <deque>

#include "transfers.hpp"

using namespace transfers;

namespace {

void isolate(memory_world& w) {
  w.net.refuse(1, 2);
  w.net.refuse(2, 1);
  w.net.cut(1, 2);
}
void rejoin(memory_world& w) {
  w.net.admit(1, 2);
  w.net.admit(2, 1);
}

}  // namespace

TEST_CASE("a region that is destroyed is not touched any more") {
  const auto what = GENERATE(hardware::none, hardware::simple, hardware::rdma_devices);
  for (int steps = 0; steps < 40; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    two p(w);
    const bytes first = made(2 * mebibyte, 1);
    const bytes second = made(2 * mebibyte, 2);
    auto store = std::make_unique<fenced>(first);
    std::optional<memory_region> region(p.exposed(store->memory()));
    fenced local(2 * mebibyte);
    fenced source(second);
    const auto d = region->descriptor();
    const auto g = p.begin_pull(d, 0, local.memory());
    const auto s = p.begin_push(d, 0, source.memory());
    w.pass(steps * 5us);
    INFO("steps " << steps);
    region.reset();
    CHECK(test::is_mixture(store->memory(), first, second));  // segments are written as they arrive
    CHECK(store->intact());
    store.reset();  // the address sanitizer detects any later access
    REQUIRE(w.until([&] { return g.done() && s.done(); }));
    CHECK((g->has_value() || g->error() == errc::stale_descriptor));
    CHECK((s->has_value() || s->error() == errc::stale_descriptor));
    if (steps < 5) CHECK(g->error() == errc::stale_descriptor);
    if (steps < 5) CHECK(s->error() == errc::stale_descriptor);
    CHECK(p.pull(d, 0, local.memory().first(0)).error() == errc::stale_descriptor);
    CHECK(p.push(d, 0, source.memory().first(1)).error() == errc::stale_descriptor);
    CHECK(local.intact());
    REQUIRE(p.quiet());
  }
}

TEST_CASE("a destroyed region stays destroyed for what is replayed") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(mebibyte, 1));
  std::optional<memory_region> region(p.exposed(store.memory()));
  fenced local(made(mebibyte, 2));
  w.net.freeze(2);
  const auto s = p.begin_push(region->descriptor(), 0, local.memory());
  w.pass(1ms);
  w.net.cut(1, 2);
  region.reset();
  w.net.thaw(2);
  REQUIRE(w.until([&] { return s.done(); }));
  CHECK(s->error() == errc::stale_descriptor);
  CHECK_FALSE(s->may_have_written());
  CHECK(store.holds(made(mebibyte, 1)));
}

TEST_CASE("a connection that breaks and comes back costs no byte") {
  const auto what = GENERATE(hardware::none, hardware::simple, hardware::rdma_devices);
  std::uint64_t replays = 0;
  for (int steps = 1; steps < 60; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    two p(w);
    fenced store(made(2 * mebibyte, 1));
    fenced target(2 * mebibyte);
    const auto readable = p.exposed(store.memory());
    const auto writable = p.exposed(target.memory());
    connect_devices(p, what, readable);
    fenced local(2 * mebibyte);
    fenced source(made(2 * mebibyte, 3));
    const auto g = p.begin_pull(readable.descriptor(), 0, local.memory());
    const auto s = p.begin_push(writable.descriptor(), 0, source.memory());
    for (int cuts = 0; cuts < 3; ++cuts) {
      w.pass(steps * 7us);
      w.net.cut(1, 2);
    }
    REQUIRE(w.until([&] { return g.done() && s.done(); }));
    INFO("steps " << steps);
    CHECK(g->has_value());
    CHECK(s->has_value());
    CHECK(local.holds(store.memory()));
    CHECK(target.holds(source.memory()));
    replays += p.left->ep->statistics().replays + p.right->ep->statistics().replays;
    REQUIRE(p.quiet());
  }
  CHECK(replays > (what == hardware::rdma_devices ? 50 : 100));
}

TEST_CASE("a lost session ends transfers, and the next ones work") {
  const auto what = GENERATE(hardware::none, hardware::simple, hardware::rdma_devices);
  int lefts = 0;
  for (int steps = 0; steps < 30; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    two p(w, [](endpoint_options& o) { o.transfer_segment_bytes = 32768; });
    const bytes old = made(2 * mebibyte, 1);
    fenced store(old);
    const auto region = p.exposed(store.memory());
    connect_devices(p, what, region);
    fenced local(2 * mebibyte);
    fenced source(made(2 * mebibyte, 2));
    const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
    const auto s = p.begin_push(region.descriptor(), 0, source.memory());
    w.pass(steps * 6us);
    const bool connected = p.left->to(2).connected(traffic_class::bulk);
    isolate(w);
    REQUIRE(w.until([&] { return g.done() && s.done(); }));
    INFO("steps " << steps);
    CHECK(g->error() == (connected ? errc::connection_lost : errc::unreachable));
    // The put may have waited for its turn behind the get, and then for a connection.
    const bool was_lost = s->error() == errc::connection_lost;
    CHECK((was_lost || s->error() == errc::unreachable));
    CHECK((connected || !was_lost));
    const bool left = s->may_have_written();
    CHECK((was_lost || !left));
    CHECK((left || test::same(store.memory(), old)));
    lefts += left;
    // Data that was under way arrives nowhere.
    const bytes left_behind(local.memory().begin(), local.memory().end());
    rejoin(w);
    w.pass(3s);
    CHECK(local.holds(left_behind));
    CHECK(store.intact());
    CHECK(test::is_mixture(store.memory(), old, made(2 * mebibyte, 2)));
    REQUIRE(p.push(region.descriptor(), 0, source.memory()).has_value());
    REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
    CHECK(local.holds(source.memory()));
  }
  CHECK(lefts > 10);
}

TEST_CASE("a peer that reboots has forgotten its regions", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  fenced store(made(100000, 1));
  fenced local(100000);
  region_descriptor d;
  {
    const auto region = p.exposed(store.memory());
    d = region.descriptor();
    REQUIRE(p.pull(d, 0, local.memory()).has_value());
    p.right->stop();
  }
  p.right = std::make_unique<node>(*w, options_of(2, 2));
  introduce(*p.left, *p.right);
  const auto region = p.exposed(store.memory());
  REQUIRE(region.descriptor().generation == d.generation);  // counted anew: the incarnation tells
  status s = p.pull(d, 0, local.memory());
  if (s.error() == errc::peer_rebooted) s = p.pull(d, 0, local.memory());
  CHECK(s.error() == errc::stale_descriptor);
  CHECK(p.pull(region.descriptor(), 0, local.memory()).has_value());
}

TEST_CASE("a deadline ends a transfer on time") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(made(mebibyte, 2));
  REQUIRE(p.pull(region.descriptor(), 0, local.memory().first(10)).has_value());
  const bytes before(local.memory().begin(), local.memory().end());
  transfer_options options;
  options.deadline = 5ms;
  const bool reads = GENERATE(true, false);
  const bool reachable = GENERATE(true, false);
  reachable ? w.net.freeze(2) : isolate(w);
  w.pass(1ms);  // the break is noticed
  const time_point begun = w.clock.now();
  std::optional<status> ended;
  if (reads) {
    ended = p.pull(region.descriptor(), 0, local.memory(), options);
  } else {
    const auto s = p.push(region.descriptor(), 0, local.memory(), options);
    CHECK(s.may_have_written() == reachable);  // without a connection its requests never left
    ended = s;
  }
  CHECK(ended->error() == errc::deadline_exceeded);
  CHECK(w.clock.now() - begun == 5ms);
  reachable ? w.net.thaw(2) : rejoin(w);
  w.pass(1s);
  CHECK(local.holds(before));
  CHECK(store.intact());
  REQUIRE(p.quiet());
}

TEST_CASE("a transfer is cancelled before its beginning, and after its end", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w, [](endpoint_options& o) { o.transfer_segment_bytes = 32768; });
  fenced store(made(4 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(4 * mebibyte);
  transfer_options options;
  stop_source before, after;
  options.stop = before.token();
  before.request_stop();
  CHECK(p.pull(region.descriptor(), 0, local.memory(), options).error() == errc::cancelled);
  const auto s = p.push(region.descriptor(), 0, local.memory(), options);
  CHECK(s.error() == errc::cancelled);
  CHECK_FALSE(s.may_have_written());
  CHECK(p.left->ep->statistics().frames_sent == 0);
  options.stop = after.token();
  CHECK(p.pull(region.descriptor(), 0, local.memory(), options).has_value());
  after.request_stop();
  REQUIRE(p.quiet());
  CHECK(local.holds(store.memory()));
}

TEST_CASE("a transfer is cancelled while it is under way") {
  const auto what = GENERATE(hardware::none, hardware::simple, hardware::rdma_devices);
  const auto made_world = make_memory_world(what);
  memory_world& w = *made_world;
  two p(w, [](endpoint_options& o) { o.transfer_segment_bytes = 32768; });
  fenced store(made(4 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(4 * mebibyte);
  stop_source stop;
  transfer_options options;
  options.stop = stop.token();

  SECTION("at any moment") {
    const int steps = GENERATE(range(0, 20));
    connect_devices(p, what, region);
    const auto g = p.begin_pull(region.descriptor(), 0, local.memory(), options);
    fenced source(made(4 * mebibyte, 2));
    const auto s = p.begin_push(region.descriptor(), 0, source.memory(), options);
    w.pass(steps * 11us);
    stop.request_stop();
    w.clock.run_now();
    REQUIRE(g.done());
    REQUIRE(s.done());
    CHECK(g->error() == errc::cancelled);
    CHECK(s->error() == errc::cancelled);
    if (!s->may_have_written()) CHECK(steps < (what == hardware::none ? 6 : 10));
    const bytes left_behind(local.memory().begin(), local.memory().end());
    const bool touched = !store.holds(made(4 * mebibyte, 1));
    if (touched) CHECK(s->may_have_written());
    w.pass(1s);
    CHECK(local.holds(left_behind));
    if (!s->may_have_written()) CHECK(store.holds(made(4 * mebibyte, 1)));
    REQUIRE(p.quiet());
    CHECK(p.left->to(2).credit(traffic_class::bulk) == p.right->ep->options().window[3]);
  }
  SECTION("in the turn in which it completes") {
    if (what == hardware::rdma_devices) return;  // its frames lie in no buffer
    const auto g = p.begin_pull(region.descriptor(), 0, local.memory().first(1000), options);
    const bool endless = false;
    while (p.left->ep->memory().buffers().lent() == 0 && w.clock.run_step(endless)) continue;
    while (local.memory()[1] == std::byte{0} && w.clock.run_step(endless)) continue;
    stop.request_stop();
    REQUIRE(w.until([&] { return g.done(); }));
    if (*g) CHECK(test::same(local.memory().first(1000), store.memory().first(1000)));
  }
}

TEST_CASE("a transfer waits for its peer to come up") {
  const auto made_world = any_memory_world();
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(100000, 1));
  const auto region = p.exposed(store.memory());
  w.net.refuse(1, 2);
  fenced local(100000);
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  w.pass(500ms);
  CHECK_FALSE(g.done());
  w.net.admit(1, 2);
  REQUIRE(w.until([&] { return g.done(); }));
  CHECK(local.holds(store.memory()));
}

TEST_CASE("an endpoint that ends takes its transfers with it", "[reactor]") {
  const auto w = any_bulk_world();
  const bool served = GENERATE(true, false);
  two p(*w, [](endpoint_options& o) { o.transfer_buffers = 4; });
  fenced store(made(mebibyte, 1));
  auto region = p.exposed(store.memory());
  const auto d = region.descriptor();
  std::deque<fenced> local;
  std::deque<started<status>> gets;
  std::deque<started<push_status>> puts;
  for (std::uint64_t i = 0; i < 6; ++i) {
    local.emplace_back(made(mebibyte, i));
    gets.push_back(p.begin_pull(d, 0, local.back().memory()));
    puts.push_back(p.begin_push(d, 0, local.back().memory()));
  }
  w->run_ready();
  if (served) REQUIRE(w->until([&] { return p.right->ep->statistics().replies_sent != 0; }));
  p.left->stop();
  w->run_ready();
  for (auto& g : gets) {
    REQUIRE(g.done());
    CHECK(g->error() == errc::closed);
  }
  for (auto& s : puts) {
    REQUIRE(s.done());
    CHECK(s->error() == errc::closed);
  }
  p.right->stop();
  CHECK_FALSE(region.exposed());
}

TEST_CASE("a drain lets no new segment through and ends in time", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w);
  fenced store(made(32 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(32 * mebibyte);
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  REQUIRE(w->until([&] { return p.right->ep->statistics().replies_sent != 0; }));
  const bool own = GENERATE(true, false);
  node& ends = own ? *p.left : *p.right;
  CHECK(finish(*w, ends.ep->drain(1s)).has_value());
  REQUIRE(w->until([&] { return g.done(); }));
  CHECK(g->error() == errc::closed);
}
