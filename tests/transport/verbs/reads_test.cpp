#include "tests/support/allocation_counter.hpp"
#include "tests/support/stacked_rail.hpp"
#include "tests/transport/memory/remotes.hpp"

using namespace transfers;
using scoll::test::fake_verbs_world;

namespace {

/// Two nodes with RDMA devices. Node 1, which pulls, is host 1.
struct readers {
  /// Each case runs without memory windows and with a few.
  explicit readers(const std::function<void(verbs_options&)>& tune = {}) {
    w.options.windows = GENERATE(0U, 5U);
    w.net.common_path().model.ps_per_byte = 200;
    if (tune) tune(w.options);
    nodes.emplace(w);
  }
  two& p() { return *nodes; }
  bool pulls(const memory_region& region) {
    const status s = p().pull(region.descriptor(), 0, local.memory());
    INFO((s ? "ok" : s.error().text()));
    CHECK(s.has_value());
    return s && local.holds(store.memory());
  }
  endpoint_statistics reads() { return p().left->ep->statistics(); }
  verbs_statistics links() {
    return static_cast<test::stacked_rail&>(p().left->transport()).verbs.statistics();
  }

  fake_verbs_world w;
  std::optional<two> nodes;
  fenced store{made(2 * mebibyte, 1)};
  fenced local{2 * mebibyte};
};

}  // namespace

TEST_CASE("memory is pulled by READs, and no message carries it") {
  readers r;
  const auto region = r.p().exposed(r.store.memory());
  const std::uint64_t sends = r.w.devices.statistics().sends;
  const auto begun = r.w.ex().now();
  REQUIRE(r.pulls(region));
  CHECK(r.w.ex().now() - begun < 8ms);  // each READ wakes its reader
  const auto seen = r.w.devices.statistics();
  CHECK(seen.read_bytes == 2 * mebibyte);
  CHECK(r.reads().read_bytes == 2 * mebibyte);
  CHECK(seen.reads >= 2 * mebibyte / 20'000);  // pieces
  CHECK(seen.sends - sends < 200);
  CHECK(r.p().right->ep->statistics().bytes_sent < 20'000);
  CHECK(seen.most_reads == 3);
  REQUIRE(r.w.until([&] { return is_idle(r.p()); }));
  CHECK(r.links().links_without_reads == 0);
}

TEST_CASE("reads cost no registration, no allocation and no forced fence") {
  const bool staged = GENERATE(false, true);
  readers r;
  registered_memory owned, own;
  if (!staged) {
    owned = registered(r.w, *r.p().right, r.store.memory());
    own = registered(r.w, *r.p().left, r.local.memory());
  }
  {
    const auto region = r.p().exposed(r.store.memory());
    for (int i = 0; i < 5; ++i) REQUIRE(r.pulls(region));
    const auto before = r.w.devices.statistics();
    // A long transfer allocates what a short one does.
    const auto allocated = [&](std::size_t size) {
      const std::size_t first = allocation_counter::on_this_thread();
      REQUIRE(r.p().pull(region.descriptor(), 0, r.local.memory().first(size)).has_value());
      return allocation_counter::on_this_thread() - first;
    };
    std::size_t least = allocated(10'000);
    std::size_t most = allocated(2 * mebibyte);
    for (int i = 0; i < 18; ++i) {
      least = std::min(least, allocated(10'000));
      most = std::min(most, allocated(2 * mebibyte));
    }
    CHECK(most <= least);
    const auto after = r.w.devices.statistics();
    CHECK(after.registrations == before.registrations);
    CHECK(after.queue_pairs == before.queue_pairs);
    CHECK(after.read_bytes - before.read_bytes == 19 * (2 * mebibyte + 10'000));
    CHECK(r.reads().staged_bytes == (staged ? r.reads().read_bytes : 0));
    CHECK(forced(r.p()) == 0);
    REQUIRE(r.w.until([&] { return is_idle(r.p()); }));
  }
  end(r.w, std::move(owned));
  end(r.w, std::move(own));
}

TEST_CASE("a READ is no larger than its device and the options allow, and no more are under way") {
  const std::uint32_t bytes = GENERATE(1000U, 65'536U, 1U << 20U);
  const auto depth = static_cast<std::uint8_t>(GENERATE(1, 16, 100));
  readers r([&](verbs_options& o) {
    o.read_bytes = bytes;
    o.read_depth = depth;
  });
  const auto region = r.p().exposed(r.store.memory());
  REQUIRE(r.pulls(region));
  const auto seen = r.w.devices.statistics();
  CHECK(seen.most_reads <= std::min<std::uint64_t>(depth, 16));  // the device's own limit
  if (bytes == 1000) CHECK(seen.most_reads == std::min<std::uint64_t>(depth, 16));
  CHECK(seen.largest_read == std::min(bytes, 131'072U));
}

TEST_CASE("if one side can register no memory for reads, bulk data travel in messages") {
  readers r;
  const std::uint32_t host = GENERATE(1U, 2U);
  r.w.devices.refuse_memory(host);
  const auto region = r.p().exposed(r.store.memory());
  REQUIRE(r.pulls(region));
  REQUIRE(r.p().push(region.descriptor(), 0, r.local.memory()).has_value());
  CHECK(r.w.devices.statistics().read_bytes == 0);
  CHECK(r.reads().reads == 0);
  CHECK(r.links().links_without_reads == r.links().links);
  // The device is opened again after a failure, and then it can.
  r.w.devices.refuse_memory(host, false);
  r.w.devices.fail_device(host);
  std::array<std::byte, 1> one;
  REQUIRE(r.p().pull(region.descriptor(), 0, one).has_value());
  REQUIRE(r.pulls(region));
  CHECK(r.reads().read_bytes == 2 * mebibyte);
}

TEST_CASE("memory that cannot be registered is read through slabs, and its owner is told why") {
  readers r;
  const auto region = r.p().exposed(r.store.memory());
  REQUIRE(r.pulls(region));
  r.w.devices.refuse_memory(2);
  std::optional<error> why;
  const auto run = [](endpoint& ep, std::span<std::byte> what, std::optional<error>& into) -> task<> {
    auto made = co_await register_memory(ep, what);
    if (!made) into = made.error();
  };
  const background work(r.w.ex(), run(*r.p().right->ep, r.store.memory(), why));
  REQUIRE(r.w.until([&] { return work.done(); }));
  REQUIRE(why.has_value());
  CHECK(std::string_view(why->text()).find("locked memory") != std::string_view::npos);
  REQUIRE(r.pulls(region));
  CHECK(r.reads().read_bytes == 4 * mebibyte);
  CHECK(r.p().right->ep->statistics().staged_bytes == 4 * mebibyte);
}

TEST_CASE("links without reads are made where the options say so") {
  const bool none = GENERATE(false, true);
  readers r([&](verbs_options& o) { none ? void(o.read_depth = 0) : void(o.read_slabs = 0); });
  const auto region = r.p().exposed(r.store.memory());
  registered_memory owned = registered(r.w, *r.p().right, r.store.memory());
  CHECK(owned.rails() == 0);
  REQUIRE(r.pulls(region));
  CHECK(r.w.devices.statistics().read_bytes == 0);
  CHECK(r.w.devices.statistics().queue_pairs == 2);  // of the bulk lane, at both ends
  end(r.w, std::move(owned));
}

TEST_CASE("registered memory stays registered when its device has failed and was opened again") {
  readers r;
  registered_memory owned = registered(r.w, *r.p().right, r.store.memory());
  registered_memory own = registered(r.w, *r.p().left, r.local.memory());
  {
    const auto region = r.p().exposed(r.store.memory());
    REQUIRE(r.pulls(region));
    for (int steps = 0; steps < 40; ++steps) {
      test::fill(r.local.memory(), std::byte{0});
      const auto g = r.p().begin_pull(region.descriptor(), 0, r.local.memory());
      r.w.pass(steps * 23us);
      r.w.devices.fail_device(steps % 2 == 0 ? 1 : 2);
      INFO("steps " << steps);
      REQUIRE(r.w.until([&] { return g.done(); }));
      REQUIRE(g->has_value());
      CHECK(r.local.holds(r.store.memory()));
    }
    CHECK(r.reads().staged_bytes == 0);
    CHECK(r.p().right->ep->statistics().staged_bytes == 0);
    CHECK(r.reads().read_bytes > 40 * 2 * mebibyte);
    CHECK(forced(r.p()) == 0);
    REQUIRE(r.w.until([&] { return is_idle(r.p()); }));
  }
  end(r.w, std::move(owned));
  end(r.w, std::move(own));
}

TEST_CASE("registered memory may end while its device is opened again") {
  readers r;
  for (int steps = 0; steps < 60; ++steps) {
    registered_memory owned = registered(r.w, *r.p().right, r.store.memory());
    const auto region = r.p().exposed(r.store.memory());
    REQUIRE(r.pulls(region));
    r.w.devices.fail_device(2);
    const auto g = r.p().begin_pull(region.descriptor(), 0, r.local.memory());
    r.w.pass(steps * 40us);
    INFO("steps " << steps);
    end(r.w, std::move(owned));
    REQUIRE(r.w.until([&] { return g.done(); }));
    REQUIRE(g->has_value());
    CHECK(r.local.holds(r.store.memory()));
  }
  REQUIRE(r.w.until([&] { return is_idle(r.p()); }));
}

TEST_CASE("a device that refuses a READ in the middle of a list costs its link, and no byte") {
  readers r;
  const auto region = r.p().exposed(r.store.memory());
  REQUIRE(r.pulls(region));
  for (std::uint32_t after = 0; after < 60; ++after) {
    const std::uint64_t before = r.links().links;
    test::fill(r.local.memory(), std::byte{0});
    r.w.devices.refuse_send_after(1, after);
    REQUIRE(r.pulls(region));
    CHECK(r.links().links > before);
  }
  CHECK(forced(r.p()) == 0);
  REQUIRE(r.w.until([&] { return is_idle(r.p()); }));
}

TEST_CASE("a peer that lies about its right harms its own link only") {
  readers r;
  node third(r.w, options_of(3));
  introduce(*r.p().right, third);
  fenced other(2 * mebibyte);
  const auto region = r.p().exposed(r.store.memory());
  REQUIRE(r.pulls(region));
  REQUIRE(finish(r.w, pull(*third.ep, region.descriptor(), 0, other.memory())).has_value());

  // The third node reads beyond its right while the first one pulls.
  remote_access& at = *third.to(2).remote();
  slab_pool& slabs = at.registrar().incoming();  // the link is about to end
  slab& into = *slabs.try_acquire();
  struct seen {
    bool done = false;
    status outcome;
  } end;
  remote_read forged;
  forged.from = {reinterpret_cast<std::uintptr_t>(r.store.memory().data()), 12345, 4096};
  forged.into = into.memory;
  forged.into.bytes = into.memory.bytes.first(4096);
  forged.on_complete([](remote_read&, void* self,
                        const status& outcome) noexcept { *static_cast<seen*>(self) = {true, outcome}; },
                     &end);
  test::fill(r.local.memory(), std::byte{0});
  const auto g = r.p().begin_pull(region.descriptor(), 0, r.local.memory());
  r.w.pass(50us);
  CHECK_FALSE(g.done());
  at.read(forged);
  REQUIRE(r.w.until([&] { return end.done; }));
  CHECK(end.outcome.error() == errc::connection_lost);
  slabs.release(into);
  REQUIRE(r.w.until([&] { return g.done(); }));
  CHECK(g->has_value());
  CHECK(r.local.holds(r.store.memory()));
  CHECK(r.w.access_errors() == 1);
  r.w.expect_access_errors(1);
  CHECK(r.links().links == 1);
  CHECK(r.p().left->ep->statistics().links_broken == 0);
  CHECK(third.ep->statistics().links_broken == 1);
  // And it can read again.
  std::array<std::byte, 1> one;
  REQUIRE(finish(r.w, pull(*third.ep, region.descriptor(), 0, one)).has_value());
}

TEST_CASE("nothing reads or writes memory that was given back, however late the device is") {
  std::uint64_t late = 0;
  for (int steps = 0; steps < 60; ++steps) {
    readers r;
    r.w.devices.set_control_time(steps % 2 == 0 ? 20us : 3ms);  // destroying queue pairs takes time
    registered_memory owned = registered(r.w, *r.p().right, r.store.memory());
    registered_memory own = registered(r.w, *r.p().left, r.local.memory());
    auto region = r.p().exposed(r.store.memory());
    std::array<std::byte, 1> first;
    REQUIRE(r.p().pull(region.descriptor(), 0, first).has_value());
    stop_source stop;
    transfer_options options;
    options.stop = stop.token();
    const auto g = r.p().begin_pull(region.descriptor(), 0, r.local.memory(), options);
    r.w.pass(steps * 9us);
    r.w.net.cut(1, 2);
    stop.request_stop();
    REQUIRE(r.w.until([&] { return g.done(); }));
    const std::uint64_t moved = r.w.devices.statistics().read_bytes;
    test::fill(r.local.memory(), std::byte{9});
    const background withdrawn(r.w.ex(), region.withdraw());
    REQUIRE(r.w.until([&] { return withdrawn.done(); }));
    r.w.pass(1s);
    INFO("steps " << steps);
    CHECK(test::holds_only(r.local.memory(), std::byte{9}));
    late += moved > 0;
    CHECK(forced(r.p()) == 0);
    REQUIRE(r.w.until([&] { return is_idle(r.p()); }));
    end(r.w, std::move(owned));
    end(r.w, std::move(own));
  }
  CHECK(late > 20);
}

TEST_CASE("reads that nobody answers end with their link, and go on over the next one") {
  readers r;
  const auto region = r.p().exposed(r.store.memory());
  REQUIRE(r.pulls(region));
  test::fill(r.local.memory(), std::byte{0});
  const auto g = r.p().begin_pull(region.descriptor(), 0, r.local.memory());
  r.w.pass(100us);
  const std::uint64_t before = r.links().links;
  r.w.devices.set_port(2, false, false);  // no event says so
  REQUIRE(r.w.until([&] { return !r.p().left->to(2).connected(traffic_class::bulk); }));
  CHECK_FALSE(g.done());
  r.w.devices.set_port(2, true, false);
  REQUIRE(r.w.until([&] { return g.done(); }));
  CHECK(g->has_value());
  CHECK(r.links().links > before);
  CHECK(r.local.holds(r.store.memory()));
}

TEST_CASE("devices of this machine read memory, registered or not, and refuse forged keys", "[.][rxe]") {
  REQUIRE_FALSE(test::rxe_world::devices().empty());
  test::rxe_world w;
  two p(w);
  constexpr std::size_t size = 4 * mebibyte;
  fenced store(made(size, 1));
  fenced local(size);
  auto region = p.exposed(store.memory());
  const auto pulls = [&] {
    test::fill(local.memory(), std::byte{0});
    const auto begun = w.ex().now();
    REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
    CHECK(local.holds(store.memory()));
    return std::chrono::duration_cast<std::chrono::milliseconds>(w.ex().now() - begun).count();
  };
  const endpoint_statistics& reads = p.left->ep->statistics();
  pulls();
  CHECK(reads.read_bytes == size);
  CHECK(reads.staged_bytes == size);
  const auto copied = pulls();
  registered_memory owned = registered(w, *p.right, store.memory());
  registered_memory own = registered(w, *p.left, local.memory());
  const auto direct = pulls();
  CHECK(reads.read_bytes == 3 * size);
  CHECK(reads.staged_bytes == 2 * size);
  WARN("4 MiB are read in " << copied << " ms through slabs, in " << direct << " ms from registered memory");

  remote_access& at = *p.left->to(2).remote();
  slab_pool& slabs = at.registrar().incoming();  // the link is about to end
  slab& into = *slabs.try_acquire();
  std::optional<errc> outcome;
  remote_read forged;
  forged.from = {reinterpret_cast<std::uintptr_t>(store.memory().data()), 12345, 4096};
  forged.into = into.memory;
  forged.into.bytes = into.memory.bytes.first(4096);
  forged.on_complete(
      [](remote_read&, void* self, const status& how) noexcept {
        *static_cast<std::optional<errc>*>(self) = how.error().code();
      },
      &outcome);
  at.read(forged);
  REQUIRE(w.until([&] { return outcome.has_value(); }));
  CHECK(*outcome == errc::connection_lost);
  slabs.release(into);
  pulls();
  CHECK(forced(p) == 0);
  region.unexpose();
  end(w, std::move(owned));
  end(w, std::move(own));
}
