#include <deque>

#include "remotes.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/session/limits.hpp"
#include "transport/wire/wire.hpp"

using namespace transfers;

namespace {

void nothing_is_held(two& p) {
  REQUIRE(p.quiet());
  REQUIRE(p.w.until([&] { return is_idle(p); }));
  CHECK(p.left->ep->statistics().links_broken == 0);
  CHECK(p.right->ep->statistics().links_broken == 0);
}

/// Puts of a node that has no connection yet leave with their bytes.
void connect(two& p, const memory_region& region) {
  std::array<std::byte, 1> first;
  REQUIRE(p.pull(region.descriptor(), 0, first).has_value());
}

/// Answers every order with parts that a test has made, and with nothing else.
class strange_owner final : public endpoint_events {
 public:
  explicit strange_owner(node& at) noexcept : at_(at) { at.ep->route(traffic_class::bulk, *this); }
  ~strange_owner() {
    at_.take_bulk();
    for (incoming& order : orders_) {
      if (order.open()) order.drop();
    }
  }

  std::function<std::vector<memory_right>(std::uint32_t link)> answers;
  std::size_t orders() const { return orders_.size(); }

  void on_request(request_view& request) noexcept override {
    remote_access* const link = request.from().remote();
    incoming& order = orders_.emplace_back();
    request.accept(order);
    for (const memory_right& right : answers(link == nullptr ? 0 : link->id())) {
      message& m = at_.ep->acquire_message();
      m.set_head_bytes(wire::encode_to(m.head_space(), right).value());
      order.reply_part(m);
    }
  }
  void on_cancelled(incoming& work, const cancel_reason&) noexcept override { work.drop(); }
  void on_session_lost(session&, const error&) noexcept override {}

 private:
  node& at_;
  std::deque<incoming> orders_;
};

memory_right right_to(std::uint32_t link, std::uint32_t length, std::uint8_t flags = 0) {
  memory_right right;
  right.link = link;
  right.flags = flags;
  const std::array<remote_extent, 1> one{{{0x1000, 7, length}}};
  if ((flags & memory_right::recalled) == 0) right.set_extents(one);
  return right;
}

}  // namespace

TEST_CASE("strange rights end a transfer, and nothing else") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(100'000, 1));
  fenced local(100'000);
  const auto region = p.exposed(store.memory());
  connect(p, region);
  strange_owner owner(*p.right);
  const auto pull_with = [&](const auto& answers, bool checked = false) {
    owner.answers = answers;
    transfer_options options;
    options.checked = checked;
    options.deadline = 2s;
    const status s = p.pull(region.descriptor(), 0, local.memory(), options);
    REQUIRE_FALSE(s.has_value());
    return s.error().code();
  };
  using rights = std::vector<memory_right>;
  CHECK(pull_with([](std::uint32_t link) { return rights{right_to(link, 100'001)}; }) == errc::malformed);
  CHECK(pull_with([](std::uint32_t link) {
          return rights{right_to(link, 100'000, memory_right::checked)};
        }) == errc::malformed);
  CHECK(pull_with([](std::uint32_t link) { return rights{right_to(link, 100'000)}; }, true) ==
        errc::malformed);
  const std::size_t before = owner.orders();
  CHECK(pull_with([](std::uint32_t link) { return rights{right_to(link + 1, 100'000)}; }) ==
        errc::connection_lost);
  CHECK(owner.orders() - before == limits::read_attempts + 1);
  CHECK(pull_with([](std::uint32_t link) {
          return rights{right_to(link, 0, memory_right::recalled), right_to(link, 100'000)};
        }) == errc::connection_lost);
  CHECK(pull_with([](std::uint32_t link) { return rights{right_to(link, 0, memory_right::recalled)}; }) ==
        errc::deadline_exceeded);
  CHECK(pull_with([](std::uint32_t) { return rights{}; }) == errc::deadline_exceeded);
  owner.answers = [](std::uint32_t link) { return rights{right_to(link, 100'000)}; };
  CHECK(p.push(region.descriptor(), 0, local.memory()).error() == errc::malformed);
  CHECK(p.left->ep->statistics().links_broken + p.right->ep->statistics().links_broken == 0);
  CHECK(p.left->ep->statistics().reads == 0);
  CHECK(local.holds(bytes(100'000)));
  REQUIRE(w.until([&] { return is_idle(p); }));
}

TEST_CASE("a forged key breaks the link that it is used on, and no other") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(100'000, 1));
  fenced local(100'000);
  const auto region = p.exposed(store.memory());
  connect(p, region);
  strange_owner owner(*p.right);
  owner.answers = [](std::uint32_t link) { return std::vector{right_to(link, 100'000)}; };
  const status s = p.pull(region.descriptor(), 0, local.memory());
  CHECK(s.error() == errc::connection_lost);
  CHECK(w.access_errors() == limits::read_attempts + 1);
  w.expect_access_errors(limits::read_attempts + 1);
  CHECK(p.left->ep->statistics().links_broken == limits::read_attempts + 1);
  CHECK(p.left->ep->statistics().sessions_lost == 0);
  CHECK(local.holds(bytes(100'000)));
}

TEST_CASE("memory is read by right, registered or not, on either side") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  const bool there = GENERATE(false, true);
  const bool here = GENERATE(false, true);
  const bool checked = GENERATE(false, true);
  const std::size_t size = GENERATE(std::size_t{8193}, std::size_t{100'000}, 3 * mebibyte + 10'000);
  fenced store(made(size, 1));
  fenced local(made(size, 2));
  registered_memory owned, own;
  if (there) owned = registered(w, *p.right, store.memory());
  if (here) own = registered(w, *p.left, local.memory());
  {
    const auto region = p.exposed(store.memory());
    transfer_options options;
    options.checked = checked;
    REQUIRE(p.pull(region.descriptor(), 0, local.memory(), options).has_value());
    CHECK(local.holds(store.memory()));
    const endpoint_statistics& reads = p.left->ep->statistics();
    const endpoint_statistics& gives = p.right->ep->statistics();
    CHECK(reads.read_bytes == size);
    CHECK(gives.grants > 0);
    CHECK(gives.bytes_sent < 20'000);
    CHECK(reads.staged_bytes == (here ? 0 : size));
    CHECK(gives.staged_bytes == (there ? 0 : size));

    const bytes fresh = made(size, 3);
    std::ranges::copy(fresh, local.memory().begin());
    const auto s = p.push(region.descriptor(), 0, local.memory(), options);
    REQUIRE(s.has_value());
    CHECK(s.may_have_written());
    CHECK(store.holds(fresh));
    CHECK(gives.read_bytes == size);
    CHECK(reads.staged_bytes == (here ? 0 : 2 * size));
    CHECK(gives.staged_bytes == (there ? 0 : 2 * size));
    nothing_is_held(p);
  }
  end(w, std::move(owned));
  end(w, std::move(own));
  CHECK(forced(p) == 0);
}

TEST_CASE("memory that is registered for writing alone is read into, and peers read a copy of it") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(mebibyte, 1));
  fenced local(mebibyte);
  registered_memory own = registered(w, *p.left, local.memory(), memory_access::write);
  {
    const auto region = p.exposed(store.memory());
    REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
    CHECK(local.holds(store.memory()));
    CHECK(p.left->ep->statistics().staged_bytes == 0);
    std::ranges::copy(made(mebibyte, 2), local.memory().begin());
    REQUIRE(p.push(region.descriptor(), 0, local.memory()).has_value());
    CHECK(store.holds(local.memory()));
    CHECK(p.left->ep->statistics().staged_bytes == mebibyte);
    nothing_is_held(p);
  }
  end(w, std::move(own));
}

TEST_CASE("up to 8 KiB travel in the answer, and an empty transfer does too") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(8192, 1));
  fenced local(8192);
  const auto region = p.exposed(store.memory());
  REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
  CHECK(local.holds(store.memory()));
  REQUIRE(p.push(region.descriptor(), 0, local.memory()).has_value());
  REQUIRE(p.pull(region.descriptor(), 0, local.memory().first(0)).has_value());
  CHECK(p.left->ep->statistics().reads + p.right->ep->statistics().reads == 0);
  CHECK(p.left->ep->statistics().grants + p.right->ep->statistics().grants == 0);
}

TEST_CASE("a right is to the beginning of what was ordered, and the rest is ordered anew") {
  const auto what = any_hardware();
  const std::size_t slab_bytes = GENERATE(8192U, 10'000U, 100'000U);
  const auto made_world = make_memory_world(what, {.slabs = 4, .slab_bytes = slab_bytes});
  memory_world& w = *made_world;
  two p(w, [](endpoint_options& o) { o.transfer_segment_bytes = 262'144; });
  fenced store(made(mebibyte, 1));
  fenced local(mebibyte);
  const auto region = p.exposed(store.memory());
  transfer_options options;
  options.checked = true;
  REQUIRE(p.pull(region.descriptor(), 0, local.memory(), options).has_value());
  CHECK(local.holds(store.memory()));
  std::ranges::copy(made(mebibyte, 2), local.memory().begin());
  REQUIRE(p.push(region.descriptor(), 0, local.memory(), options).has_value());
  CHECK(store.holds(local.memory()));
  nothing_is_held(p);
}

TEST_CASE("registered memory in pieces is read without a copy as far as it is worth it") {
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  const std::size_t piece = GENERATE(100U, 5'000U, 70'000U);
  fenced store(made(mebibyte, 1));
  fenced local(mebibyte);
  registered_memory owned = registered(w, *p.right, store.memory());
  registered_memory own = registered(w, *p.left, local.memory());
  const auto cut = [piece](std::span<std::byte> memory) {
    std::vector<std::span<std::byte>> pieces;
    for (; !memory.empty(); memory = memory.subspan(pieces.back().size()))
      pieces.push_back(memory.first(std::min(piece, memory.size())));
    return pieces;
  };
  const auto there = cut(store.memory());
  const auto here = cut(local.memory());
  {
    auto region = memory_region::expose(*p.right->ep, std::span<const std::span<std::byte>>(there),
                                        memory_access::read);
    REQUIRE(region.has_value());
    const std::span<const std::span<std::byte>> into(here);
    REQUIRE(finish(w, pull(*p.left->ep, region->descriptor(), 0, into)).has_value());
  }
  CHECK(local.holds(store.memory()));
  CHECK((p.right->ep->statistics().staged_bytes == 0) == (piece > 100));
  nothing_is_held(p);
  end(w, std::move(owned));
  end(w, std::move(own));
}

TEST_CASE("a link that breaks while memory is read costs no byte") {
  const auto what = any_hardware();
  std::uint64_t again = 0;
  for (int steps = 1; steps < 50; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    w.net.common_path().model.ps_per_byte = 200;
    two p(w);
    const bool direct = steps % 2 == 0;
    fenced store(made(2 * mebibyte, 1));
    fenced target(2 * mebibyte);
    fenced local(2 * mebibyte);
    fenced source(made(2 * mebibyte, 3));
    std::vector<registered_memory> all;
    if (direct) {
      for (fenced* f : {&store, &target}) all.push_back(registered(w, *p.right, f->memory()));
      for (fenced* f : {&local, &source}) all.push_back(registered(w, *p.left, f->memory()));
    }
    {
      const auto readable = p.exposed(store.memory());
      const auto writable = p.exposed(target.memory());
      connect(p, readable);
      const auto g = p.begin_pull(readable.descriptor(), 0, local.memory());
      const auto s = p.begin_push(writable.descriptor(), 0, source.memory());
      for (int cuts = 0; cuts < 3; ++cuts) {
        w.pass(steps * 13us);
        w.net.cut(1, 2);
      }
      REQUIRE(w.until([&] { return g.done() && s.done(); }));
      INFO("steps " << steps);
      CHECK(g->has_value());
      CHECK(s->has_value());
      CHECK(local.holds(store.memory()));
      CHECK(target.holds(source.memory()));
      again += p.left->ep->statistics().read_bytes + p.right->ep->statistics().read_bytes > 4 * mebibyte;
      nothing_is_held(p);
    }
    for (auto& m : all) end(w, std::move(m));
    CHECK(forced(p) == 0);
    CHECK(w.access_errors() == 0);
  }
  CHECK(again > 5);
}

TEST_CASE("an order is answered although its link breaks before its right can be told") {
  std::uint64_t given = 0;
  const auto made_world = make_memory_world(any_hardware());
  memory_world& w = *made_world;
  two p(w);
  fenced store(made(100'000, 1));
  const auto region = p.exposed(store.memory());
  for (int round = 0; round < 10'000; ++round) {
    connect(p, region);
    fenced local(100'000);
    const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
    w.pass(10us + round % 10 * 500ns);
    w.net.cut(1, 2);
    INFO("round " << round);
    REQUIRE(w.until([&] { return g.done(); }, 5s));
    CHECK(local.holds(store.memory()));
    given = p.right->ep->statistics().grants;
  }
  CHECK(given > 10'000);
  nothing_is_held(p);
}

TEST_CASE("a peer that releases nothing does not keep the slabs of others for ever") {
  const auto what = any_hardware();
  const auto made_world = make_memory_world(what, {.slabs = 4, .slab_bytes = 65536});
  memory_world& w = *made_world;
  two p(w);
  node third(w, options_of(3));
  introduce(*p.right, third);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  connect_devices(p, what, region);
  fenced local(mebibyte);
  fenced other(mebibyte);
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  w.pass(what == hardware::simple ? 60us : 30us);
  w.freeze(1);
  // It does not come with a new connection either. Devices acknowledge all the same.
  if (what == hardware::simple) w.net.path(1, 2).blocked_until = w.clock.world().now() + 5s;
  REQUIRE(w.until([&] { return p.right->ep->memory().giver().out() == 2; }, 1s));  // half of them
  const time_point begun = w.clock.now();
  REQUIRE(finish(w, pull(*third.ep, region.descriptor(), 0, other.memory())).has_value());
  CHECK(other.holds(store.memory()));
  CHECK(w.clock.now() - begun < 100ms);
  // Its own orders wait for slabs, so what it has is recalled, and then its link is cut.
  REQUIRE(w.until([&] { return p.right->ep->memory().giver().out() == 0; }, 2s));
  CHECK(p.right->ep->statistics().recalls > 0);
  w.thaw(1);
  REQUIRE(w.until([&] { return g.done(); }));
  if (*g) CHECK(local.holds(store.memory()));
}

TEST_CASE("rights and readings are over when an endpoint ends") {
  const auto what = any_hardware();
  for (int steps = 1; steps < 30; ++steps) {
    const auto made_world = make_memory_world(what);
    memory_world& w = *made_world;
    w.net.common_path().model.ps_per_byte = 200;
    two p(w);
    auto store = std::make_unique<fenced>(made(2 * mebibyte, 1));
    fenced local(2 * mebibyte);
    registered_memory owned, own;
    if (steps % 2 == 0) {
      owned = registered(w, *p.right, store->memory());
      own = registered(w, *p.left, local.memory());
    }
    auto region = p.exposed(store->memory());
    connect(p, region);
    const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
    const auto s = p.begin_push(region.descriptor(), 0, local.memory());
    w.pass(steps * 11us);
    own = {};  // these do not wait
    owned = {};
    (steps % 3 == 0 ? p.left : p.right)->stop();
    if (steps % 3 != 0) {
      CHECK_FALSE(region.exposed());
      store.reset();
    }
    REQUIRE(w.until([&] { return g.done() && s.done(); }));
  }
}
