#include <deque>

#include "tests/support/allocation_counter.hpp"
#include "transfers.hpp"

using namespace transfers;

namespace {

template <class T>
bool all_done(const std::deque<started<T>>& tasks) {
  return std::ranges::all_of(tasks, [](const auto& s) { return s.done(); });
}

task<> back_and_forth(endpoint& at, region_descriptor d, std::span<std::byte> local, int rounds,
                      int& failed) {
  for (int i = 0; i < rounds; ++i) {
    const status read = co_await pull(at, d, 0, local);
    const status written = co_await push(at, d, 0, local);
    failed += !read + !written;
  }
}

task<> count_allocations(endpoint& at, region_descriptor d, std::span<std::byte> local,
                         std::size_t& made_here, int& failed) {
  co_await back_and_forth(at, d, local, 4, failed);
  const std::size_t before = allocation_counter::on_this_thread();
  co_await back_and_forth(at, d, local, 4, failed);
  made_here = allocation_counter::on_this_thread() - before;
}

}  // namespace

TEST_CASE("transfers over TCP allocate nothing in a steady state", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  two p(w);
  fenced store(made(2 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(2 * mebibyte);
  std::size_t allocations = 1;
  int failed = 0;
  const background b(
      w.ex(), count_allocations(*p.left->ep, region.descriptor(), local.memory(), allocations, failed));
  REQUIRE(w.until([&] { return b.done(); }, 60s));
  CHECK(failed == 0);
  CHECK(allocations == 0);
  CHECK(local.holds(store.memory()));
}

TEST_CASE("a peer that does not read holds a bounded number of buffers") {
  memory_world w;
  const std::uint32_t segment = GENERATE(8192U, 262144U);
  two p(w, [segment](endpoint_options& o) { o.transfer_segment_bytes = segment; });
  fenced store(made(8 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  std::deque<fenced> local;
  std::deque<started<status>> gets;
  std::deque<started<push_status>> puts;
  REQUIRE(p.push(region.descriptor(), 0, store.memory().first(1)).has_value());
  for (std::uint64_t i = 0; i < 10; ++i) {
    local.emplace_back(8 * mebibyte);
    gets.push_back(p.begin_pull(region.descriptor(), 0, local.back().memory()));
    puts.push_back(p.begin_push(region.descriptor(), 0, store.memory()));
  }
  const auto& options = p.left->ep->options();
  const bool sender_freezes = GENERATE(true, false);
  w.pass(50us);
  w.net.freeze(sender_freezes ? 1 : 2);
  w.pass(10s);
  CHECK(p.right->ep->memory().buffers().lent() <= 2 * options.window[3]);
  CHECK(p.left->ep->memory().buffers().lent() <= options.transfer_window);
  CHECK(p.left->to(2).held_messages() <= options.transfer_window);
  CHECK(p.right->to(1).held_messages() <= 2 * options.window[3]);
  w.net.thaw(sender_freezes ? 1 : 2);
  REQUIRE(w.until([&] { return all_done(gets) && all_done(puts); }));
  for (auto& g : gets) CHECK(g->has_value());
  for (auto& s : puts) CHECK(s->has_value());
  for (auto& l : local) CHECK(l.holds(store.memory()));
  REQUIRE(p.quiet());
}

TEST_CASE("few buffers make transfers slow, not wrong", "[reactor]") {
  const auto w = any_bulk_world();
  const std::uint32_t buffers = GENERATE(1U, 3U);
  two p(*w, [buffers](endpoint_options& o) {
    o.transfer_buffers = buffers;
    o.transfer_segment_bytes = 8192;
  });
  fenced store(made(mebibyte, 1));
  fenced target(mebibyte);
  const auto readable = p.exposed(store.memory());
  const auto writable = p.exposed(target.memory());
  auto mirror = memory_region::expose(*p.left->ep, store.memory());
  fenced first(mebibyte);
  fenced second(mebibyte);
  fenced third(mebibyte);
  std::deque<started<status>> gets;
  gets.push_back(p.begin_pull(readable.descriptor(), 0, first.memory()));
  gets.push_back(p.begin_pull(readable.descriptor(), 0, second.memory()));
  gets.emplace_back(w->ex(), pull(*p.right->ep, mirror->descriptor(), 0, third.memory()));
  const auto s = p.begin_push(writable.descriptor(), 0, store.memory());
  std::size_t waited = 0;
  REQUIRE(w->until(
      [&] {
        waited = std::max(waited, p.right->ep->memory().waiting());
        return all_done(gets) && s.done();
      },
      60s));
  CHECK(waited > 0);
  CHECK(waited <= p.right->ep->options().window[3]);
  for (auto& g : gets) CHECK(g->has_value());
  CHECK(s->has_value());
  for (fenced* f : {&first, &second, &third, &target}) CHECK(f->holds(store.memory()));
  REQUIRE(p.quiet());
}

TEST_CASE("gets that wait for a buffer can go away") {
  memory_world w;
  two p(w, [](endpoint_options& o) {
    o.transfer_buffers = 2;
    o.transfer_segment_bytes = 8192;
  });
  endpoint_options o = options_of(3);
  o.transfer_segment_bytes = 8192;
  node third(w, o);
  introduce(third, *p.right);
  fenced store(made(mebibyte, 1));
  std::optional<memory_region> region(p.exposed(store.memory()));
  const auto d = region->descriptor();
  fenced slow(mebibyte);
  fenced local(mebibyte);
  // Node 3 holds all buffers and does not read.
  const started<status> hog(w.ex(), pull(*third.ep, d, 0, slow.memory()));
  REQUIRE(w.until([&] { return p.right->ep->memory().buffers().lent() == 2; }));
  w.net.freeze(3);
  stop_source stop;
  transfer_options options;
  options.stop = stop.token();
  const auto g = p.begin_pull(d, 0, local.memory(), options);
  w.pass(100ms);
  CHECK(p.right->ep->memory().waiting() >= p.right->ep->options().window[3]);
  CHECK_FALSE(g.done());

  SECTION("cancelled") {
    stop.request_stop();
    w.pass(1ms);
    CHECK(g->error() == errc::cancelled);
    CHECK(p.right->ep->memory().waiting() <= p.right->ep->options().window[3]);
    w.net.thaw(3);
    REQUIRE(w.until([&] { return hog.done(); }));
    CHECK(hog->has_value());
  }
  SECTION("their region goes first") {
    region.reset();
    w.net.thaw(3);
    REQUIRE(w.until([&] { return hog.done() && g.done(); }));
    CHECK(hog->error() == errc::stale_descriptor);
    CHECK(g->error() == errc::stale_descriptor);
  }
  SECTION("their session goes first") {
    w.net.refuse(1, 2);
    w.net.refuse(2, 1);
    w.net.cut(1, 2);
    REQUIRE(w.until([&] { return g.done(); }));
    CHECK(g->error() == errc::connection_lost);
    w.net.thaw(3);
    REQUIRE(w.until([&] { return hog.done(); }));
    CHECK(hog->has_value());
  }
  SECTION("their endpoint goes first") {
    p.right->stop();
    w.net.thaw(3);
    REQUIRE(w.until([&] { return hog.done() && g.done(); }));
    CHECK_FALSE(hog->has_value());
    CHECK_FALSE(g->has_value());
  }
  if (p.right->ep) REQUIRE(w.until([&] { return p.right->ep->memory().waiting() == 0; }));
}

TEST_CASE("calls pass by bulk", "[reactor]") {
  const auto w = any_bulk_world();
  two p(*w, [](endpoint_options& o) { o.transfer_segment_bytes = 32768; });
  fenced store(made(8 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(8 * mebibyte);
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  call c;
  int rounds = 0;
  c.then = [&](call& self) {
    if (++rounds < 5) CHECK(self.start(*p.left, 2, 1).has_value());
  };
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w->until([&] { return rounds == 5; }));
  CHECK_FALSE(g.done());
  REQUIRE(w->until([&] { return g.done(); }));
  CHECK(local.holds(store.memory()));
}

TEST_CASE("windows and limits of transfers are checked") {
  endpoint_options o = options_of(1);
  o.transfer_window = 0;
  CHECK(o.validate().error() == errc::invalid_argument);
  o.transfer_window = o.queue_limit + 1;
  CHECK(o.validate().error() == errc::invalid_argument);
  o = options_of(1);
  for (const std::uint32_t segment : {0U, (1U << 20U) + 1}) {
    o = options_of(1);
    o.transfer_segment_bytes = segment;
    CHECK(o.validate().error() == errc::invalid_argument);
  }
  o = options_of(1);
  o.transfer_buffers = 0;
  CHECK(o.validate().error() == errc::invalid_argument);
  o = options_of(1);
  o.region_limit = 0;
  CHECK(o.validate().error() == errc::invalid_argument);
}
