#include "remotes.hpp"
#include "transport/session/named_rails.hpp"

using namespace transfers;

namespace {

constexpr std::size_t memory_bytes = 2U << 20U;
/// 50 ms of patience, the time in which a simulated link is fenced, and the latency.
constexpr nanoseconds fence_bound = 53ms;

/// Two nodes with one large piece of registered memory each, on a wire that takes its time.
struct owners {
  explicit owners(memory_world& on) : w(on) {
    w.net.common_path().model.ps_per_byte = 200;
    owned = registered(w, *p.right, store.memory());
    own = registered(w, *p.left, local.memory());
    const auto region = p.exposed(store.memory());
    std::array<std::byte, 1> first;
    REQUIRE(p.pull(region.descriptor(), 0, first).has_value());
  }
  ~owners() {
    end(w, std::move(own));
    end(w, std::move(owned));
  }

  memory_world& w;
  two p{w};
  fenced store{clean(memory_bytes, 1)};
  fenced local{clean(memory_bytes, 2)};
  registered_memory owned, own;
};

}  // namespace

TEST_CASE("a region that is withdrawn is left alone, and no link pays for it") {
  const auto what = any_hardware();
  int stale = 0;
  std::uint64_t recalls = 0;
  for (int steps = 0; steps < 40; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    owners o(w);
    const bool writes = steps % 4 == 3;
    auto region = o.p.exposed(o.store.memory());
    const auto d = region.descriptor();
    std::optional<started<status>> g;
    std::optional<started<push_status>> s;
    transfer_options options;
    options.window = 2;
    if (writes) s.emplace(o.p.begin_push(d, 0, o.local.memory(), options));
    if (!writes) g.emplace(o.p.begin_pull(d, 0, o.local.memory(), options));
    w.pass(steps * 17us);
    const time_point begun = w.clock.now();
    const background withdrawn(w.ex(), region.withdraw());
    REQUIRE(w.until([&] { return withdrawn.done(); }));
    INFO("steps " << steps);
    CHECK(w.clock.now() - begun < 50ms);
    CHECK_FALSE(region.exposed());
    const bytes left(o.store.memory().begin(), o.store.memory().end());
    test::fill(o.store.memory(), poison);
    REQUIRE(w.until([&] { return writes ? s->done() : g->done(); }));
    const error why = writes ? (*s)->error() : (*g)->error();
    CHECK((!why || why == errc::stale_descriptor));
    stale += why == errc::stale_descriptor;
    CHECK(test::holds_only(o.store.memory(), poison));
    CHECK_FALSE(test::holds_any(o.local.memory(), poison));
    recalls += o.p.right->ep->statistics().recalls;
    CHECK(o.p.left->ep->statistics().links_broken + o.p.right->ep->statistics().links_broken == 0);
    CHECK(forced(o.p) == 0);
    REQUIRE(w.until([&] { return is_idle(o.p); }));
  }
  CHECK(stale > 5);
  CHECK(recalls > 5);
}

TEST_CASE("a withdrawal waits for no peer longer than its bound") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  owners o(w);
  auto region = o.p.exposed(o.store.memory());
  const auto g = o.p.begin_pull(region.descriptor(), 0, o.local.memory());
  REQUIRE(w.until([&] { return o.p.left->ep->memory().readers().running() > 2; }));
  w.freeze(1);  // it hears of no recall
  const time_point begun = w.clock.now();
  const background withdrawn(w.ex(), region.withdraw());
  REQUIRE(w.until([&] { return withdrawn.done(); }));
  CHECK(w.clock.now() - begun >= 50ms);
  CHECK(w.clock.now() - begun < fence_bound);
  test::fill(o.store.memory(), poison);
  w.thaw(1);
  REQUIRE(w.until([&] { return g.done(); }));
  CHECK(g->error() == errc::stale_descriptor);
  CHECK_FALSE(test::holds_any(o.local.memory(), poison));
  CHECK(forced(o.p) == 0);
}

TEST_CASE("a recall ends what the peer has not begun to read") {
  const auto made_world = make_memory_world(any_hardware(), {.slabs = 1, .slab_bytes = 131072});
  memory_world& w = *made_world;
  w.net.common_path().model.ps_per_byte = 20'000;  // more than 2 ms for a slab
  two p(w);
  fenced store(clean(memory_bytes, 1));
  fenced local(memory_bytes);
  registered_memory owned = registered(w, *p.right, store.memory());
  auto region = p.exposed(store.memory());
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  REQUIRE(w.until([&] { return p.left->ep->memory().readers().running() == 8; }));
  const time_point begun = w.clock.now();
  const background withdrawn(w.ex(), region.withdraw());
  REQUIRE(w.until([&] { return withdrawn.done(); }));
  CHECK(w.clock.now() - begun < 10ms);
  CHECK(p.right->ep->statistics().recalls > 5);
  REQUIRE(w.until([&] { return g.done(); }));
  CHECK(g->error() == errc::stale_descriptor);
  CHECK(forced(p) == 0);
  end(w, std::move(owned));
}

TEST_CASE("a withdrawal of memory that no hardware uses is over at once") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  fenced store(clean(memory_bytes, 1));
  fenced local(memory_bytes);
  auto region = p.exposed(store.memory());
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  w.pass(200us);
  const background withdrawn(w.ex(), region.withdraw());
  w.clock.run_now();
  CHECK(withdrawn.done());
  test::fill(store.memory(), poison);
  REQUIRE(w.until([&] { return g.done(); }));
  CHECK_FALSE(test::holds_any(local.memory(), poison));
  memory_region none;
  const background nothing(w.ex(), none.withdraw());
  w.clock.run_now();
  CHECK(nothing.done());
}

TEST_CASE("memory that is taken away without a wait is left alone, and that is counted") {
  const auto what = any_hardware();
  std::uint64_t all = 0;
  for (int steps = 0; steps < 40; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    owners o(w);
    const bool writes = steps % 2 == 1;
    std::optional<memory_region> region(o.p.exposed(o.store.memory()));
    const auto d = region->descriptor();
    std::optional<started<status>> g;
    std::optional<started<push_status>> s;
    if (writes) s.emplace(o.p.begin_push(d, 0, o.local.memory()));
    if (!writes) g.emplace(o.p.begin_pull(d, 0, o.local.memory()));
    w.pass(steps * 17us);
    region.reset();
    test::fill(o.store.memory(), poison);
    REQUIRE(w.until([&] { return writes ? s->done() : g->done(); }));
    INFO("steps " << steps);
    const error why = writes ? (*s)->error() : (*g)->error();
    CHECK((!why || why == errc::stale_descriptor));
    CHECK(test::holds_only(o.store.memory(), poison));
    CHECK_FALSE(test::holds_any(o.local.memory(), poison));
    all += forced(o.p);
    REQUIRE(w.until([&] { return is_idle(o.p); }));
  }
  CHECK(all > 5);
}

TEST_CASE("nothing uses the memory of a transfer that was stopped, and it ends within its bound") {
  const auto what = any_hardware();
  int stopped = 0;
  int waited = 0;
  for (int steps = 0; steps < 40; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    owners o(w);
    const bool writes = steps % 2 == 1;
    const bool mute = steps % 8 >= 6;
    auto region = o.p.exposed(o.store.memory());
    const auto d = region.descriptor();
    stop_source stop;
    transfer_options options;
    options.stop = stop.token();
    std::optional<started<status>> g;
    std::optional<started<push_status>> s;
    if (writes) s.emplace(o.p.begin_push(d, 0, o.local.memory(), options));
    if (!writes) g.emplace(o.p.begin_pull(d, 0, o.local.memory(), options));
    w.pass(steps * 17us);
    if (mute) w.freeze(2);
    const time_point begun = w.clock.now();
    stop.request_stop();
    REQUIRE(w.until([&] { return writes ? s->done() : g->done(); }));
    INFO("steps " << steps);
    CHECK(w.clock.now() - begun < fence_bound);
    waited += w.clock.now() != begun;
    const bool failed = writes ? !(*s)->has_value() : !(*g)->has_value();
    stopped += failed;
    const bytes left(o.local.memory().begin(), o.local.memory().end());
    test::fill(o.local.memory(), poison);
    if (writes && failed && !(*s)->may_have_written()) CHECK(o.store.holds(clean(memory_bytes, 1)));
    w.thaw(2);
    w.pass(1s);
    CHECK(test::holds_only(o.local.memory(), poison));
    CHECK_FALSE(test::holds_any(o.store.memory(), poison));
    REQUIRE(w.until([&] { return is_idle(o.p); }));
    CHECK(forced(o.p) == 0);
    REQUIRE(o.p.quiet());
  }
  CHECK(stopped > 20);
  CHECK(waited > 10);
}

TEST_CASE("memory is registered once, and its end waits for its users") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  owners o(w);
  CHECK(o.owned.rails() == 1);
  CHECK(o.owned.bytes().size() == memory_bytes);
  const auto overlapping = [&](std::span<std::byte> memory) {
    std::optional<errc> got;
    const auto run = [](endpoint& ep, std::span<std::byte> what, std::optional<errc>& into) -> task<> {
      auto made = co_await register_memory(ep, what);
      into = made ? errc::ok : made.error().code();
    };
    const background work(w.ex(), run(*o.p.right->ep, memory, got));
    REQUIRE(w.until([&] { return work.done(); }));
    return *got;
  };
  CHECK(overlapping(o.store.memory()) == errc::already_exists);
  CHECK(overlapping(o.store.memory().subspan(10, 5)) == errc::already_exists);
  CHECK(overlapping(o.store.memory().first(1)) == errc::already_exists);
  bytes beside(100);
  CHECK(overlapping(beside) == errc::ok);
  CHECK(overlapping(beside) == errc::ok);  // the first registration has ended with its object
  auto region = o.p.exposed(o.store.memory());
  const auto g = o.p.begin_pull(region.descriptor(), 0, o.local.memory());
  REQUIRE(w.until([&] { return o.p.left->ep->memory().readers().running() > 2; }));
  const background released(w.ex(), o.owned.release());
  w.clock.run_now();
  CHECK_FALSE(released.done());
  REQUIRE(w.until([&] { return released.done(); }));
  REQUIRE(w.until([&] { return g.done(); }));
  CHECK(g->has_value());
  CHECK(o.local.holds(clean(memory_bytes, 1)));
  CHECK(o.owned.bytes().empty());
}

TEST_CASE("memory of nodes without such hardware is registered nowhere, which makes no difference") {
  memory_world w;
  two p(w);
  fenced store(clean(memory_bytes, 1));
  fenced local(memory_bytes);
  registered_memory owned = registered(w, *p.right, store.memory());
  CHECK(owned.rails() == 0);
  const auto region = p.exposed(store.memory());
  REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
  CHECK(local.holds(store.memory()));
  CHECK(p.left->ep->statistics().reads == 0);
  end(w, std::move(owned));
}

TEST_CASE("memory has a key at every rail that has a registrar") {
  virtual_executor clock;
  sim_network first(clock.world(), 4096, 2);
  sim_network second(clock.world(), 4096, 2);
  sim_network plain(clock.world(), 4096, 2);
  first.enable_remote_memory(test::few_slabs);
  second.enable_remote_memory(test::few_slabs);
  sim_rail a(first, clock, 0);
  sim_rail b(plain, clock, 0);
  sim_rail c(second, clock, 0);
  named_rails all;
  REQUIRE(all.add("a", a).has_value());
  REQUIRE(all.add("b", b).has_value());
  REQUIRE(all.add("c", c).has_value());
  CHECK(all.registrar(0) == a.registrar(0));
  CHECK(all.registrar(1) == c.registrar(0));
  CHECK(all.registrar(2) == nullptr);
  CHECK(b.registrar(0) == nullptr);
  network::service none;
  endpoint at(clock, all, options_of(1), none);
  bytes memory(1000);
  std::optional<registered_memory> made;
  const auto run = [](endpoint& ep, bytes& what, std::optional<registered_memory>& into) -> task<> {
    auto registered = co_await register_memory(ep, what);
    if (registered) into = std::move(*registered);
  };
  const background work(clock, run(at, memory, made));
  clock.run_for(1ms);
  REQUIRE(made.has_value());
  CHECK(made->rails() == 2);
  CHECK(all.open() == 0);
  made.reset();
  CHECK(all.open() == 2);
  clock.run_for(1ms);
  CHECK(all.open() == 0);
}
