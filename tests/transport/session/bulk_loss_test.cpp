#include <deque>
#include <optional>
#include <utility>

#include "session_pair.hpp"
#include "split_world.hpp"
#include "tests/transport/memory/transfers.hpp"

using namespace transfers;

namespace {

constexpr auto bulk = traffic_class::bulk;

void check_sessions_are_whole(linked_nodes& p) {
  for (const node* n : {p.left.get(), p.right.get()}) {
    CHECK(n->in.losses.empty());
    CHECK(n->ep->statistics().sessions_lost == 0);
    CHECK(n->ep->statistics().links_broken == 0);
  }
  CHECK(p.left->to(2).epoch() == 1);
  CHECK(p.right->to(1).epoch() == 1);
}

/// Nothing is left to be sent or done, and both sides agree on the credit.
void check_nothing_is_owed(linked_nodes& p) {
  REQUIRE(
      p.w.until([&] { return p.left->ep->messages_in_use() == 0 && p.right->ep->messages_in_use() == 0; }));
  p.w.pass(200ms);
  for (std::size_t c = 0; c < class_count; ++c) {
    const auto klass = static_cast<traffic_class>(c);
    const auto agree = [&](const credit_window& sender, const credit_window& receiver) {
      CHECK(sender.sent() == receiver.received());
      CHECK(receiver.received() == receiver.disposed());
      CHECK(sender.granted_to_us() == receiver.granted_by_us());
    };
    agree(p.left->to(2).credits(klass), p.right->to(1).credits(klass));
    agree(p.right->to(1).credits(klass), p.left->to(2).credits(klass));
    CHECK(p.left->to(2).credit(klass) >= p.right->ep->options().window[c] / 2);
  }
  for (node* n : {p.left.get(), p.right.get()}) {
    CHECK(n->ep->payloads_in_use() == 0);
    CHECK_FALSE(n->to(n->id == 1 ? 2 : 1).bulk_lost());
  }
}

/// During an outage the session keeps a few small messages without payloads, and their number does not grow.
void check_little_is_held(two& p) {
  const auto held = [&] { return p.left->to(2).held_messages() + p.right->to(1).held_messages(); };
  const std::size_t before = held();
  calls_go_on(p, 10);
  p.w.pass(60s);
  CHECK(held() <= before);
  CHECK(held() <= 5 * p.left->ep->options().window[static_cast<std::size_t>(bulk)]);
  for (const node* n : {p.left.get(), p.right.get()}) {
    CHECK(n->ep->payloads_in_use() == 0);
    CHECK(n->ep->memory().buffers().lent() == 0);
  }
}

/// Every byte is from one of the two.
bool mixed(std::span<const std::byte> memory, const bytes& a, const bytes& b) {
  for (std::size_t at = 0; at < memory.size(); ++at) {
    if (memory[at] != a[at] && memory[at] != b[at]) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("losing the bulk connection ends bulk alone, wherever it breaks") {
  const std::uint32_t segment = GENERATE(4096U, 32768U);
  std::uint64_t lost = 0;
  for (int cut_at = 0; cut_at < 90; cut_at += 3) {
    INFO("segments of " << segment << ", cut at " << cut_at);
    split_world w;
    two p(w, [segment](endpoint_options& o) { o.transfer_segment_bytes = segment; });
    fenced readable(made(mebibyte, 1));
    fenced writable(made(mebibyte, 2));
    const auto from = p.exposed(readable.memory());
    const auto to = p.exposed(writable.memory());
    call patient;
    p.right->in.hold = true;
    REQUIRE(patient.start(*p.left, 2, 7).has_value());
    REQUIRE(w.until([&] { return p.right->in.held.size() == 1; }));
    p.right->in.hold = false;

    int arrived = 0;
    std::optional<time_point> broken;
    w.fast.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte>) {
      if (arrived++ != cut_at) return true;
      broken = w.clock.now();
      split_world::sever(w.fast);
      return false;
    });
    fenced into(mebibyte);
    const auto source = std::make_unique<fenced>(made(mebibyte, 3));
    const auto pulled = p.begin_pull(from.descriptor(), 0, into.memory());
    auto pushed = std::make_unique<started<push_status>>(p.begin_push(to.descriptor(), 0, source->memory()));
    REQUIRE(w.until([&] { return broken.has_value(); }));
    calls_go_on(p, 1);
    REQUIRE(w.until([&] { return pulled.done(); }));
    CHECK(w.clock.now() - *broken <= 1100ms);
    // A push that waited for its turn has a grace of its own.
    REQUIRE(w.until([&] { return pushed->done(); }));
    CHECK(w.clock.now() - *broken <= 2200ms);
    REQUIRE_FALSE(pulled->has_value());
    CHECK((pulled->error() == errc::connection_lost || pulled->error() == errc::unreachable));
    CHECK_THAT(std::string(pulled->error().text()),
               Catch::Contains("node 2") && Catch::Contains("fast://host:2"));
    CHECK_FALSE((*pushed)->has_value());
    const bool written = !writable.holds(made(mebibyte, 2));
    if (written) CHECK((*pushed)->may_have_written());

    // Both have let go of their memory, and of all but small messages.
    test::fill(into.memory(), std::byte{0xee});
    test::fill(source->memory(), std::byte{0xee});
    p.w.pass(2s);
    check_little_is_held(p);
    check_sessions_are_whole(p);
    CHECK(patient.pending());
    lost += p.left->ep->statistics().bulk_lost;

    // A request that is made during the outage has a grace of its own.
    const time_point asked = w.clock.now();
    fenced again(mebibyte);
    CHECK(p.pull(from.descriptor(), 0, again.memory()).error() == errc::unreachable);
    CHECK(w.clock.now() - asked >= 1s);
    CHECK(w.clock.now() - asked <= 1100ms);

    w.fast.set_tamper({});
    split_world::mend(w.fast);
    REQUIRE(p.pull(from.descriptor(), 0, again.memory()).has_value());
    CHECK(again.holds(readable.memory()));
    CHECK(into.holds(bytes(mebibyte, std::byte{0xee})));
    CHECK(mixed(writable.memory(), made(mebibyte, 2), made(mebibyte, 3)));
    REQUIRE(p.push(to.descriptor(), 0, readable.memory()).has_value());
    CHECK(writable.holds(readable.memory()));
    p.right->in.answer_all();
    REQUIRE(w.until([&] { return patient.ends == 1; }));
    CHECK(patient.answered());
    check_sessions_are_whole(p);
    check_nothing_is_owed(p);
    REQUIRE(p.quiet());
  }
  CHECK(lost >= 30);
}

TEST_CASE("a lost bulk lane settles with the peer by itself when its network is back") {
  split_world w;
  pair p(w);
  p.right->in.hold = true;
  std::deque<call> calls;
  for (std::uint64_t i = 0; i < 6; ++i)
    REQUIRE(calls.emplace_back().start(*p.left, 2, i, 5000, bulk, 6000).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 6; }));
  const bool answered = GENERATE(true, false);
  split_world::sever(w.fast);
  if (answered) p.right->in.answer_all();
  calls_go_on(p, 1);
  p.right->in.hold = false;
  REQUIRE(p.settle(calls));
  for (auto& c : calls) {
    CHECK(c.outcome == errc::connection_lost);
    CHECK(c.reached);
    CHECK_FALSE(c.refused);
  }
  calls_go_on(p, 20);
  CHECK(p.left->to(2).bulk_lost());
  CHECK(p.right->to(1).bulk_lost() == answered);
  CHECK(p.left->to(2).waiting() == 0);
  CHECK(p.right->in.held.size() == (answered ? 0 : 6));
  CHECK(p.right->ep->payloads_in_use() == 0);
  split_world::mend(w.fast);
  REQUIRE(p.quiet());  // without a new request
  CHECK(p.right->in.held.empty());
  CHECK(p.right->in.cancelled == (answered ? 0 : 6));
  CHECK(p.left->ep->statistics().late_replies == (answered ? 6 : 0));
  for (std::uint64_t i = 0; i < 6; ++i) CHECK(p.right->in.seen[i] == 1);
  check_nothing_is_owed(p);
  check_sessions_are_whole(p);
}

TEST_CASE("a request that never arrived is taken back, with its credit") {
  split_world w;
  pair p(w);
  call first;
  REQUIRE(first.start(*p.left, 2, 1, 8, bulk).has_value());
  REQUIRE(w.until([&] { return first.ends == 1; }));
  w.pass(100ms);
  const bool some_arrive = GENERATE(false, true);
  std::deque<call> calls;
  p.right->in.hold = true;
  const auto ask = [&](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t i = from; i < to; ++i)
      REQUIRE(calls.emplace_back().start(*p.left, 2, i, 3000, bulk).has_value());
  };
  if (some_arrive) {
    ask(10, 13);
    w.pass(12us);  // they have arrived, and no acknowledgement has
    REQUIRE(p.right->in.held.size() == 3);
  }
  w.fast.freeze(2);
  ask(20, 24);
  w.pass(1ms);
  for (auto& c : calls) CHECK(c.transmitted());
  split_world::sever(w.fast);
  REQUIRE(p.settle(calls));
  for (auto& c : calls) {
    CHECK(c.outcome == errc::connection_lost);
    CHECK(c.reached);
  }
  w.fast.thaw(2);
  split_world::mend(w.fast);
  p.right->in.hold = false;
  call next;
  REQUIRE(next.start(*p.left, 2, 30, 8, bulk).has_value());
  REQUIRE(w.until([&] { return next.ends == 1; }));
  CHECK(next.answered());
  check_nothing_is_owed(p);
  check_sessions_are_whole(p);
  for (std::uint64_t i = 20; i < 24; ++i) CHECK(p.right->in.seen.count(i) == 0);
  if (some_arrive) CHECK(p.right->in.cancelled == 3);
}

TEST_CASE("the side that waits longer hears that its answer is lost") {
  split_world w;
  pair p(w, [](endpoint_options& o) { o.reconnect_grace = o.self == 1 ? 20s : 300ms; });
  p.right->in.hold = true;
  std::deque<call> calls;
  for (std::uint64_t i = 0; i < 3; ++i)
    REQUIRE(calls.emplace_back().start(*p.left, 2, i, 8, bulk, 6000).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 3; }));
  split_world::sever(w.fast);
  w.pass(1ms);
  p.right->in.answer(0);  // this side knows that there is no connection
  w.pass(2s);
  CHECK(p.right->to(1).bulk_lost());
  CHECK(p.right->ep->payloads_in_use() == 0);
  p.right->in.answer(0);  // this side has given the lane up
  CHECK(p.right->ep->payloads_in_use() == 0);
  for (auto& c : calls) CHECK(c.pending());
  split_world::mend(w.fast);
  REQUIRE(w.until([&] { return calls[0].ends == 1 && calls[1].ends == 1; }));
  for (const std::size_t i : {0U, 1U}) {
    CHECK(calls[i].outcome == errc::connection_lost);
    CHECK(calls[i].reached);
    CHECK_FALSE(calls[i].refused);  // it was done
  }
  CHECK(calls[2].pending());
  p.right->in.answer_all();
  REQUIRE(w.until([&] { return calls[2].ends == 1; }));
  CHECK(calls[2].answered());
  check_nothing_is_owed(p);
  check_sessions_are_whole(p);
}

TEST_CASE("a request that meets a stuck attempt of a lost bulk lane has a grace of its own") {
  split_world w;
  pair p(w);
  p.right->in.hold = true;
  call first;
  REQUIRE(first.start(*p.left, 2, 1, 8, bulk).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 1; }));
  split_world::sever(w.fast);
  REQUIRE(w.until([&] { return first.ends == 1; }));
  REQUIRE(p.left->to(2).bulk_lost());
  split_world::mend(w.fast);
  const bool connecting = GENERATE(true, false);
  if (connecting) w.fast.path(1, 2).blocked_until = nanoseconds::max();
  if (!connecting) w.fast.freeze(2);
  w.pass(1500ms);  // an attempt is under way, and takes longer than a grace
  const time_point asked = w.clock.now();
  call second;
  REQUIRE(second.start(*p.left, 2, 2, 8, bulk).has_value());
  REQUIRE(w.until([&] { return second.ends == 1; }));
  CHECK(second.outcome == errc::unreachable);
  CHECK_FALSE(second.reached);
  CHECK(w.clock.now() - asked == 1s);
  w.fast.heal();
  w.fast.thaw(2);
  REQUIRE(p.quiet());
  CHECK(p.right->in.seen.count(2) == 0);
  check_nothing_is_owed(p);
  check_sessions_are_whole(p);
}

TEST_CASE("a drain does not wait for a bulk connection that is gone") {
  split_world w;
  two p(w, [](endpoint_options& o) { o.transfer_segment_bytes = 32768; });
  fenced store(made(4 * mebibyte, 1));
  const auto region = p.exposed(store.memory());
  fenced local(4 * mebibyte);
  calls_go_on(p, 1);
  const auto g = p.begin_pull(region.descriptor(), 0, local.memory());
  w.pass(70us);
  REQUIRE_FALSE(g.done());
  split_world::sever(w.fast);
  const bool puller = GENERATE(true, false);
  const bool lost_before = GENERATE(true, false);
  if (lost_before) {
    w.pass(5s);
    REQUIRE(g.done());
    CHECK(p.left->to(2).held_messages() != 0);
  }
  const time_point begun = w.clock.now();
  node& ends = puller ? *p.left : *p.right;
  const status drained = finish(w, ends.ep->drain(10s));
  CHECK(drained.has_value());
  CHECK(w.clock.now() - begun <= (lost_before ? 10ms : 1200ms));
  REQUIRE(w.until([&] { return g.done(); }));
  CHECK_FALSE(g->has_value());
  CHECK(ends.ep->messages_in_use() == 0);
  // The other side hears the goodbye over the control lane, and holds nothing for the one that is gone.
  node& other = puller ? *p.right : *p.left;
  REQUIRE(w.until([&] { return other.ep->messages_in_use() == 0; }, 100ms));
  REQUIRE(other.in.losses.size() == 1);
  CHECK(other.in.losses[0] == errc::closed);
}

TEST_CASE("a peer that is gone altogether costs the session, and nothing is kept for it") {
  split_world w;
  pair p(w);
  p.right->in.hold = true;
  const bool calls_too = GENERATE(false, true);
  call c;
  REQUIRE(c.start(*p.left, 2, 1, 8, bulk).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 1; }));
  call control;
  if (calls_too) REQUIRE(control.start(*p.left, 2, 2).has_value());
  w.pass(1ms);
  split_world::sever(w.net);
  split_world::sever(w.fast);
  const time_point gone = w.clock.now();
  REQUIRE(w.until([&] { return c.ends == 1 && !control.pending(); }));
  CHECK(c.outcome == errc::connection_lost);
  CHECK(w.clock.now() - gone <= 1100ms);
  REQUIRE(w.until([&] { return p.left->ep->messages_in_use() == 0; }));
  CHECK(w.clock.now() - gone <= 2200ms);
  REQUIRE(p.left->in.losses.size() == 1);
  p.right->in.drop_all();
  w.pass(10s);
  split_world::mend(w.net);
  split_world::mend(w.fast);
  p.right->in.hold = false;
  call again;
  REQUIRE(again.start(*p.left, 2, 3, 8, bulk).has_value());
  REQUIRE(w.until([&] { return again.ends == 1; }));
  CHECK(again.answered());
  check_nothing_is_owed(p);
}

TEST_CASE("callbacks of a lost bulk lane may cancel, free and start exchanges") {
  split_world w;
  pair p(w);
  p.right->in.hold = true;
  std::deque<call> calls(5);
  for (std::size_t i = 0; i < 5; ++i) REQUIRE(calls[i].start(*p.left, 2, i, 8, bulk).has_value());
  auto owned = std::make_unique<call>();
  REQUIRE(owned->start(*p.left, 2, 10, 8, bulk).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 6; }));
  calls[0].then = [&](call& self) {
    calls[3].cancel();
    owned.reset();
    self.then = {};
    CHECK(self.start(*p.left, 2, 20, 8, bulk).has_value());
  };
  p.right->in.hold = false;
  split_world::sever(w.fast);
  REQUIRE(w.until([&] { return calls[1].ends == 1; }));
  split_world::mend(w.fast);
  REQUIRE(w.until([&] { return calls[0].answered(); }));
  CHECK(calls[3].ends == 0);
  CHECK_FALSE(calls[3].pending());
  for (const std::size_t i : {1U, 2U, 4U}) CHECK(calls[i].outcome == errc::connection_lost);
  check_nothing_is_owed(p);
  check_sessions_are_whole(p);
}

TEST_CASE("bulk that is lost and comes back at any time happens once or not at all") {
  std::uint64_t lost = 0;
  std::uint64_t failed = 0;
  std::uint64_t repeated = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    split_world w(700);
    pair p(w, [](endpoint_options& o) { o.reconnect_grace = 200ms; });
    random_generator random(seed);
    std::deque<call> calls;
    std::uint64_t number = 0;
    for (int round = 0; round < 40; ++round) {
      const auto from = static_cast<std::uint32_t>(1 + random.below(2));
      switch (random.below(9)) {
        case 0: w.fast.cut(1, 2); break;
        case 1: split_world::sever(w.fast); break;
        case 2: split_world::mend(w.fast); break;
        case 3: w.fast.half_open(1, 2); break;
        case 4: w.fast.freeze(2); break;
        case 5: w.fast.thaw(2); break;
        case 6: p.right->in.hold = !p.right->in.hold; break;
        case 7:
          w.fast.path(from, 3 - from).repeat_connects = 1;
          w.fast.path(from, 3 - from).repeat_after = nanoseconds(std::int64_t{1} << random.below(30));
          break;
        default: p.right->in.answer_all(); break;
      }
      for (std::uint64_t i = random.below(6); i-- != 0; ++number) {
        node& asker = random.below(2) == 0 ? *p.left : *p.right;
        const std::size_t size = random.below(9000);
        const auto reply = static_cast<std::uint32_t>(random.below(9000));
        const std::uint32_t parts = 1 + static_cast<std::uint32_t>(random.below(2));
        REQUIRE(
            calls.emplace_back().start(asker, 3 - asker.id, number, size, bulk, reply, parts).has_value());
        if (random.below(8) == 0) calls.back().cancel();
      }
      w.pass(random.below(3) == 0 ? nanoseconds(300ms)
                                  : nanoseconds(static_cast<std::int64_t>(random.below(100'000))));
      calls_go_on(p, static_cast<int>(random.below(2)));
    }
    p.right->in.hold = false;
    p.right->in.answer_all();
    w.fast.thaw(2);
    split_world::mend(w.fast);
    REQUIRE(w.until([&] { return std::ranges::none_of(calls, [](call& c) { return c.pending(); }); }, 60s));
    REQUIRE(w.until([&] { return p.left->to(2).owing() == 0 && p.right->to(1).owing() == 0; }, 60s));
    check_nothing_is_owed(p);
    check_sessions_are_whole(p);
    for (std::uint64_t i = 0; i < number; ++i) {
      const int times = p.left->in.seen[i] + p.right->in.seen[i];
      CHECK(times <= 1);
      if (calls[i].ends != 0 && !calls[i].outcome) CHECK(times == 1);
      if (calls[i].ends != 0 && calls[i].outcome && !calls[i].reached) CHECK(times == 0);
      failed += calls[i].ends != 0 && calls[i].outcome;
    }
    CHECK(p.left->in.damaged + p.right->in.damaged == 0);
    lost += p.left->ep->statistics().bulk_lost + p.right->ep->statistics().bulk_lost;
    repeated += w.fast.repeated();
  }
  CHECK(lost > 60);
  CHECK(repeated > 30);
  CHECK(failed > 60);
}

TEST_CASE(
    "a control connection that carries nothing is replaced, though bulk is answered over its own network") {
  split_world w;
  pair p(w);
  calls_go_on(p, 3);
  w.net.lose_all(1, 2);
  call waits;
  REQUIRE(waits.start(*p.left, 2, 1000).has_value());
  const time_point lost = w.clock.now();
  for (std::uint64_t i = 0; i < 40 && waits.pending(); ++i) {
    call each;
    REQUIRE(each.start(*p.left, 2, 2000 + i, 8, bulk).has_value());
    REQUIRE(w.until([&] { return each.ends == 1; }));
    CHECK(each.answered());
    w.pass(100ms);
  }
  CHECK(waits.answered());
  CHECK(w.clock.now() - lost <= 2s);
  check_sessions_are_whole(p);
}
