#include <algorithm>
#include <deque>

#include "session_pair.hpp"

using namespace network;

TEST_CASE("a request is answered", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  call c;
  REQUIRE(c.start(*p.left, 2, 42, 100).has_value());
  CHECK(c.pending());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  CHECK(c.reached);
  CHECK_FALSE(c.pending());
  CHECK(p.right->in.seen[42] == 1);
  CHECK(p.right->in.damaged == 0);
  REQUIRE(p.quiet());
}

TEST_CASE("sizes from nothing to the limit go both ways", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  std::deque<call> calls;
  std::uint64_t n = 0;
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, message::inline_payload_bytes,
                                 message::inline_payload_bytes + 1, std::size_t{4096}, max_payload_bytes}) {
    for (auto klass :
         {traffic_class::urgent, traffic_class::collective, traffic_class::call, traffic_class::bulk}) {
      auto& c = calls.emplace_back();
      REQUIRE(c.start(*p.left, 2, ++n, size, klass, static_cast<std::uint32_t>(size)).has_value());
    }
  }
  REQUIRE(p.settle(calls));
  for (auto& c : calls) CHECK(c.answered());
  CHECK(p.right->in.damaged == 0);
}

TEST_CASE("large messages and small ones come in turn, whole and in order", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  std::uint64_t n = 0;
  // So many large ones, and then small ones, that a link changes its way to receive, and changes it back.
  for (const auto& [size, count] : {std::pair{max_payload_bytes, 24}, std::pair{std::size_t{100}, 200},
                                    std::pair{max_payload_bytes - 777, 40}, std::pair{std::size_t{0}, 3},
                                    std::pair{std::size_t{20'000}, 24}}) {
    std::deque<call> calls;
    for (int i = 0; i < count; ++i) {
      auto& c = calls.emplace_back();
      REQUIRE(
          c.start(*p.left, 2, ++n, size, traffic_class::call, static_cast<std::uint32_t>(size)).has_value());
      if (size < 1000)
        REQUIRE(w->until([&] { return c.ends == 1; }));  // one by one, each in a receive of its own
    }
    REQUIRE(p.settle(calls));
    for (auto& c : calls) REQUIRE(c.answered());
  }
  CHECK(p.right->in.damaged == 0);
  CHECK(p.left->ep->statistics().links_broken == 0);
  REQUIRE(p.quiet());
}

TEST_CASE("a payload that is held for long is copied, unless it fills a buffer of a pool with many left") {
  memory_world w;
  pair p(w);
  endpoint& at = *p.left->ep;
  buffer_pool pool(max_frame_bytes, 4);
  const auto stays = [&](std::size_t size) {
    const buffer_ref buffer = pool.try_acquire();
    const buffer_view kept = at.keep({buffer, {buffer.data(), size}});
    REQUIRE(kept.bytes.size() == size);
    return kept.bytes.data() == buffer.data();
  };
  CHECK_FALSE(stays(max_payload_bytes));  // the pool does not say that its buffers may be held
  pool.let_keep(2);
  CHECK(stays(max_payload_bytes));
  CHECK_FALSE(stays(100));
  const buffer_ref other = pool.try_acquire(), third = pool.try_acquire();
  CHECK_FALSE(stays(max_payload_bytes));
}

TEST_CASE("a refusal is told apart from a lost session", "[reactor]") {
  const auto w = any_world();
  pair p(*w, [](endpoint_options& o) { o.reconnect_grace = 300ms; });
  p.right->in.refuse_with = {errc::unknown_service, "nothing here"};
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.outcome == errc::unknown_service);
  CHECK(c.outcome.text() == "nothing here");
  CHECK(c.refused);
  CHECK(c.reached);

  p.right->in.refuse_with = {};
  p.right->in.hold = true;
  call d;
  REQUIRE(d.start(*p.left, 2, 2).has_value());
  REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
  p.right->stop();
  REQUIRE(w->until([&] { return d.ends == 1; }));
  CHECK(d.outcome == errc::connection_lost);
  CHECK_FALSE(d.refused);
  CHECK(d.reached);
}

TEST_CASE("a request that no service takes is refused", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  call c;
  message& m = p.left->ep->acquire_message();
  REQUIRE(p.left->to(2).request(c, traffic_class::call, m, 0).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.outcome == errc::unsupported);
  CHECK(c.refused);
}

TEST_CASE("a reply in parts keeps the exchange pending until the last", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  call c;
  REQUIRE(c.start(*p.left, 2, 5, 8, traffic_class::collective, 20000, 7).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  CHECK(c.parts == 6);
  REQUIRE(p.quiet());
  check_credit_is_back(p);
}

TEST_CASE("a reply beyond the announced capacity ends its exchange only", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  const std::uint32_t parts = GENERATE(1U, 3U);
  call c;
  c.capacity = 99;
  REQUIRE(c.start(*p.left, 2, 5, 8, traffic_class::call, 100, parts).has_value());
  call d;
  d.capacity = 100;
  REQUIRE(d.start(*p.left, 2, 6, 8, traffic_class::call, 100).has_value());
  REQUIRE(w->until([&] { return c.ends == 1 && d.ends == 1; }));
  CHECK(c.outcome == errc::too_large);
  CHECK_FALSE(c.refused);
  CHECK_THAT(std::string(c.outcome.text()), Catch::Contains("100") && Catch::Contains("99"));
  CHECK(d.answered());
  CHECK(p.left->ep->statistics().links_broken == 0);
  REQUIRE(p.quiet());
  CHECK(c.ends == 1);
}

TEST_CASE("cancelled requests tell the peer if it may know of them", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  p.right->in.hold = true;
  call sent;
  REQUIRE(sent.start(*p.left, 2, 1).has_value());
  REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
  CHECK(sent.cancel());
  CHECK_FALSE(sent.pending());
  REQUIRE(w->until([&] { return p.right->in.cancelled == 1; }));

  call unsent;
  REQUIRE(unsent.start(*p.left, 2, 2).has_value());
  CHECK_FALSE(unsent.cancel());
  REQUIRE(p.quiet());
  CHECK(p.right->in.seen.count(2) == 0);
  CHECK(sent.ends == 0);
  CHECK(unsent.ends == 0);

  SECTION("and a reply that crosses the cancel is dropped") {
    p.right->in.drop_cancelled = false;
    call late;
    REQUIRE(late.start(*p.left, 2, 3).has_value());
    REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
    late.cancel();
    p.right->in.answer_all();
    REQUIRE(w->until([&] { return p.left->ep->statistics().late_replies == 1; }));
    CHECK(late.ends == 0);
    CHECK(p.right->in.cancelled == 1);
  }
}

TEST_CASE("an aborted request ends by the peer's answer, on every class", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  p.right->in.hold = true;
  for (const auto klass :
       {traffic_class::urgent, traffic_class::collective, traffic_class::call, traffic_class::bulk}) {
    const int before = p.right->in.aborted;
    call sent;
    REQUIRE(sent.start(*p.left, 2, 1, 8, klass).has_value());
    REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
    CHECK(sent.abort());
    CHECK(sent.pending());
    REQUIRE(w->until([&] { return sent.ends == 1; }));
    CHECK(sent.answered());
    CHECK(p.right->in.aborted == before + 1);
  }

  call unsent;
  REQUIRE(unsent.start(*p.left, 2, 2).has_value());
  CHECK_FALSE(unsent.abort());
  CHECK_FALSE(unsent.pending());
  CHECK_FALSE(unsent.abort());
  REQUIRE(p.quiet());
  CHECK(unsent.ends == 0);
  CHECK(p.right->in.seen.count(2) == 0);

  SECTION("twice, and then no longer waited for") {
    p.right->in.drop_cancelled = false;
    call twice;
    REQUIRE(twice.start(*p.left, 2, 3).has_value());
    REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
    CHECK(twice.abort());
    CHECK(twice.abort());
    CHECK(twice.cancel());
    p.right->in.drop_cancelled = true;
    REQUIRE(w->until([&] { return p.right->in.held.empty() || p.right->in.cancelled >= 7; }));
    p.right->in.drop_all();
    CHECK(twice.ends == 0);
    REQUIRE(p.quiet());
  }
}

TEST_CASE("a cancel and an abort say why", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  p.right->in.hold = true;
  p.right->in.drop_cancelled = false;
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
  CHECK(c.abort());
  CHECK(c.abort(errc::peer_died));
  CHECK(c.cancel(errc::deadline_exceeded));
  REQUIRE(w->until([&] { return p.right->in.cancelled == 3; }));
  CHECK(p.right->in.aborted == 2);
  CHECK(p.right->in.reasons == std::vector{errc::cancelled, errc::peer_died, errc::deadline_exceeded});
  p.right->in.drop_all();
}

TEST_CASE("a request moves to another object, which answers it", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  p.right->in.hold = true;
  p.right->in.drop_cancelled = false;
  call c;
  REQUIRE(c.start(*p.left, 2, 1, 8, traffic_class::call, 20).has_value());
  REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
  auto& job = *p.right->in.held[0];
  incoming other;
  job.work.move_to(other);
  CHECK_FALSE(job.work.open());
  CHECK(other.open());
  CHECK(other.from() == &p.right->to(1));
  CHECK(p.right->to(1).owing() == 1);
  SECTION("with its credit") {
    other.reply(compose(*p.right->ep, job.a, 20));
    REQUIRE(w->until([&] { return c.ends == 1; }));
    CHECK(c.answered());
  }
  SECTION("without it, and a cancel finds the new object") {
    other.release_credit();
    incoming third;
    other.move_to(third);
    c.abort();
    REQUIRE(w->until([&] { return p.right->in.aborted == 1; }));
    third.refuse({errc::busy, "moved"});
    REQUIRE(w->until([&] { return c.ends == 1; }));
    CHECK(c.outcome == errc::busy);
  }
  SECTION("after its session has ended") {
    p.right->to(1).declare_dead(1);
    incoming third;
    other.move_to(third);
    third.reply(compose(*p.right->ep, job.a, 20));
    REQUIRE(w->until([&] { return c.ends == 1; }));
    CHECK_FALSE(c.answered());
    CHECK(p.right->ep->messages_in_use() == 0);
    p.right->in.held.clear();
    return;
  }
  p.right->in.held.clear();
  REQUIRE(p.quiet());
  check_credit_is_back(p);
}

TEST_CASE("an exchange is used again from its own callback", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  call c;
  std::uint64_t next = 1;
  c.then = [&](call& self) {
    if (next < 500) CHECK(self.start(*p.left, 2, ++next).has_value());
  };
  REQUIRE(c.start(*p.left, 2, next).has_value());
  REQUIRE(w->until([&] { return next == 500 && c.ends == 1; }));
  CHECK(p.right->in.seen.size() == 500);
}

TEST_CASE("thousands of exchanges both ways, many messages per write", "[reactor]") {
  const auto w = any_world();
  pair p(*w, [](endpoint_options& o) { o.queue_limit = 4096; });
  constexpr std::uint64_t count = 3000;
  std::deque<call> calls;
  for (std::uint64_t i = 0; i < count; ++i) {
    REQUIRE(calls.emplace_back().start(*p.left, 2, i, i % 300).has_value());
    REQUIRE(calls.emplace_back().start(*p.right, 1, i, i % 300).has_value());
  }
  REQUIRE(p.settle(calls));
  CHECK(std::all_of(calls.begin(), calls.end(), [](call& c) { return c.answered(); }));
  for (node* n : {p.left.get(), p.right.get()}) {
    CHECK(n->in.seen.size() == count);
    CHECK(n->in.damaged == 0);
    CHECK(std::is_sorted(n->in.order.begin(), n->in.order.end()));
    const auto& s = n->ep->statistics();
    CHECK(s.requests_sent == count);
    CHECK(s.replies_sent == count);
    CHECK(s.writes * 8 < count * 2);
    CHECK(s.duplicates == 0);
  }
  REQUIRE(p.quiet());
  check_credit_is_back(p);
}

TEST_CASE("the most urgent leave first, in order within their class") {
  memory_world w;
  pair p(w);
  std::deque<call> calls;
  std::uint64_t n = 0;
  for (int round = 0; round < 5; ++round) {
    for (auto klass : {traffic_class::call, traffic_class::collective, traffic_class::urgent}) {
      REQUIRE(calls.emplace_back().start(*p.left, 2, ++n, 8, klass).has_value());
    }
  }
  REQUIRE(p.settle(calls));
  const auto& classes = p.right->in.classes;
  REQUIRE(classes.size() == 15);
  CHECK(std::is_sorted(classes.begin(), classes.end()));
  const auto& order = p.right->in.order;
  for (std::size_t c = 0; c < 15; c += 5) {
    CHECK(std::is_sorted(order.begin() + static_cast<std::ptrdiff_t>(c),
                         order.begin() + static_cast<std::ptrdiff_t>(c) + 5));
  }
}

TEST_CASE("a peer that never disposes holds up its own class only", "[reactor]") {
  const auto w = any_world();
  pair p(*w, [](endpoint_options& o) {
    o.queue_limit = 20;
    o.window = {4, 4, 4, 4};
  });
  node third(*w, options_of(3));
  introduce(*p.left, third);
  p.right->in.hold = true;

  std::deque<call> stuck;
  for (std::uint64_t i = 0; i < 20; ++i) REQUIRE(stuck.emplace_back().start(*p.left, 2, i).has_value());
  REQUIRE(w->until([&] { return p.right->in.held.size() == 4; }));
  w->pass(50ms);
  for (std::uint64_t i = 20; i < 24; ++i) REQUIRE(stuck.emplace_back().start(*p.left, 2, i).has_value());
  call refused;
  const auto s = refused.start(*p.left, 2, 99);
  REQUIRE_FALSE(s.has_value());
  CHECK(s.error() == errc::busy);
  CHECK(s.error().text() == "20 requests to node 2 wait for credit: link.queue_limit is 20");
  CHECK_FALSE(refused.pending());
  w->pass(50ms);
  CHECK(p.right->in.held.size() == 4);
  CHECK(p.left->to(2).held_messages() <= 24);
  CHECK(p.left->to(2).credit(traffic_class::call) == 0);

  call other_class;
  REQUIRE(other_class.start(*p.left, 2, 100, 8, traffic_class::collective).has_value());
  call other_peer;
  REQUIRE(other_peer.start(*p.left, 3, 101).has_value());
  REQUIRE(w->until([&] { return other_peer.ends == 1 && p.right->in.held.size() == 5; }));

  p.right->in.hold = false;
  p.right->in.answer_all();
  REQUIRE(p.settle(stuck));
  CHECK(p.right->in.seen.size() == 25);
  REQUIRE(p.quiet());
  CHECK(p.left->to(2).credit(traffic_class::call) == 4);
}

TEST_CASE("credit comes back for requests that are dropped without a reply", "[reactor]") {
  const auto w = any_world();
  pair p(*w, [](endpoint_options& o) { o.window = {2, 2, 2, 2}; });
  p.right->in.hold = true;
  for (std::uint64_t i = 0; i < 50; ++i) {
    call c;
    REQUIRE(c.start(*p.left, 2, i).has_value());
    REQUIRE(w->until([&] { return p.right->in.seen.count(i) == 1; }));
    c.cancel();
    REQUIRE(w->until([&] { return p.right->in.held.empty(); }));
  }
  REQUIRE(p.quiet());
}

TEST_CASE("more requests than are kept unacknowledged at once") {
  memory_world w;
  pair p(w, [](endpoint_options& o) {
    o.window = {65536, 65536, 65536, 65536};
    o.queue_limit = o.exchange_limit = 20000;
    o.acknowledge_delay = 5s;
  });
  w.set_latency(5ms);
  p.right->in.hold = true;
  std::deque<call> calls;
  for (std::uint64_t i = 0; i < 15000; ++i) REQUIRE(calls.emplace_back().start(*p.left, 2, i, 0).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 15000; }));
  for (auto& j : p.right->in.held) j->work.reply(compose(*p.right->ep, j->a, 8));
  p.right->in.held.clear();
  REQUIRE(p.settle(calls));
}

TEST_CASE("the limit of waiting exchanges is stated") {
  memory_world w;
  pair p(w, [](endpoint_options& o) { o.exchange_limit = 3; });
  p.right->in.hold = true;
  std::deque<call> calls;
  for (std::uint64_t i = 0; i < 3; ++i) REQUIRE(calls.emplace_back().start(*p.left, 2, i).has_value());
  call more;
  const error busy = more.start(*p.left, 2, 9).error();
  CHECK(busy == errc::busy);
  CHECK(busy.text() == "3 requests to node 2 wait for replies: link.exchange_limit is 3");
  calls.front().cancel();
  CHECK(more.start(*p.left, 2, 9).has_value());
}

TEST_CASE("acknowledgements ride on other messages") {
  memory_world w;
  pair p(w);
  call c;
  std::uint64_t next = 1;
  c.then = [&](call& self) {
    if (next < 1000) CHECK(self.start(*p.left, 2, ++next).has_value());
  };
  REQUIRE(c.start(*p.left, 2, next).has_value());
  REQUIRE(w.until([&] { return next == 1000 && c.ends == 1; }));
  CHECK(p.left->ep->statistics().acknowledges_sent == 0);
  CHECK(p.right->ep->statistics().acknowledges_sent == 0);
  w.pass(1s);
  CHECK(p.left->ep->statistics().acknowledges_sent == 1);
  CHECK(p.right->ep->statistics().acknowledges_sent == 0);
  CHECK(p.left->ep->messages_in_use() == 0);
  CHECK(p.right->ep->messages_in_use() == 0);
  check_credit_is_back(p);

  SECTION("also when the exchanges are slower than half the delay") {
    const auto before = p.right->ep->statistics().acknowledges_sent;
    for (int i = 0; i < 100; ++i) {
      REQUIRE(c.start(*p.left, 2, ++next).has_value());
      REQUIRE(w.until([&] { return c.ends == 1; }));
      w.pass(15ms);
    }
    CHECK(p.left->ep->statistics().acknowledges_sent == 1);
    CHECK(p.right->ep->statistics().acknowledges_sent == before);
  }
}
