#include "transport/session/notice.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "session_pair.hpp"

using namespace network;

namespace {

/// A ticket that records what it hears.
class ticket final : public emission {
 public:
  ticket() noexcept : emission(&heard) {}

  status send(node& from, node_id to, std::uint8_t number, std::size_t size = 5) {
    message& m = from.ep->acquire_message();
    std::fill_n(m.head_space().begin(), size, std::byte{number});
    m.set_head_bytes(size);
    return from.to(to).notify(m, *this);
  }
  bool has(notice_state s) const { return std::find(told.begin(), told.end(), s) != told.end(); }

  std::vector<notice_state> told;
  error reason;
  std::function<void(ticket&)> then;

 private:
  static void heard(emission& e, notice_state state, const error& why) noexcept {
    auto& self = static_cast<ticket&>(e);
    self.told.push_back(state);
    self.reason = why;
    if (self.then) self.then(self);
  }
};

std::vector<std::byte> notice_of(std::uint8_t number, std::size_t size = 5) {
  return std::vector<std::byte>(size, std::byte{number});
}

constexpr std::size_t most_bytes = max_notice_head_bytes - message::envelope_bytes;

}  // namespace

TEST_CASE("a notice arrives once, is acknowledged, and nothing answers it", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  ticket t;
  REQUIRE(t.send(*p.left, 2, 7, most_bytes).has_value());
  CHECK(t.pending());
  CHECK(t.told.empty());
  REQUIRE(w->until([&] { return t.has(notice_state::acknowledged); }));
  CHECK(t.told == std::vector{notice_state::emitted, notice_state::acknowledged});
  CHECK_FALSE(t.pending());
  REQUIRE(p.right->in.notices.size() == 1);
  CHECK(p.right->in.notices[0] == notice_of(7, most_bytes));
  REQUIRE(p.quiet());
  check_credit_is_back(p);
  CHECK(p.left->ep->statistics().notices_sent == 1);
  CHECK(p.right->ep->statistics().notices_received == 1);
  CHECK(p.right->ep->statistics().notices_dropped == 0);
  CHECK(p.right->ep->statistics().replies_sent == 0);
  CHECK(p.right->in.seen.empty());
}

TEST_CASE("a notice that nobody understands is counted and dropped", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  p.right->in.ignore_notices = true;
  ticket t;
  REQUIRE(t.send(*p.left, 2, 7).has_value());
  REQUIRE(w->until([&] { return !t.pending(); }));
  CHECK(p.right->ep->statistics().notices_dropped == 1);
  CHECK(p.right->ep->statistics().links_broken == 0);
  check_credit_is_back(p);
}

TEST_CASE("a notice overtakes everything that waits", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  bool first = false;
  p.right->in.noticed = [&](session&) { first = p.right->in.order.empty(); };
  std::deque<call> calls;
  std::uint64_t n = 0;
  for (const auto klass : {traffic_class::urgent, traffic_class::collective, traffic_class::call}) {
    for (int i = 0; i < 5; ++i) REQUIRE(calls.emplace_back().start(*p.left, 2, ++n, 8, klass).has_value());
  }
  ticket t;
  REQUIRE(t.send(*p.left, 2, 7).has_value());
  REQUIRE(p.settle(calls));
  CHECK(p.right->in.notices.size() == 1);
  CHECK(first);
}

TEST_CASE("urgent requests that are not disposed leave notices half of the window", "[reactor]") {
  const auto w = any_world();
  pair p(*w, [](endpoint_options& o) { o.window = {9, 4, 4, 4}; });
  p.right->in.hold = true;
  std::deque<call> stuck;
  for (std::uint64_t i = 0; i < 30; ++i)
    REQUIRE(stuck.emplace_back().start(*p.left, 2, i, 8, traffic_class::urgent).has_value());
  REQUIRE(w->until([&] { return p.right->in.held.size() == 5; }));
  // The credit of a notice comes back at once, so any number of them gets through.
  std::deque<ticket> tickets(40);
  for (auto& t : tickets) REQUIRE(t.send(*p.left, 2, 1).has_value());
  REQUIRE(w->until([&] { return p.right->in.notices.size() == 40; }));
  CHECK(p.right->in.held.size() == 5);
  p.right->in.hold = false;
  p.right->in.answer_all();
  REQUIRE(p.settle(stuck));
  for (auto& c : stuck) CHECK(c.answered());
  REQUIRE(p.quiet());
  check_credit_is_back(p);
}

TEST_CASE("windows of one and two let requests and notices pass", "[reactor]") {
  const auto w = any_world();
  const std::uint32_t window = GENERATE(1U, 2U, 3U);
  pair p(*w, [&](endpoint_options& o) { o.window = {window, 1, 1, 1}; });
  std::deque<call> calls;
  std::deque<ticket> tickets;
  for (std::uint8_t i = 0; i < 50; ++i) {
    REQUIRE(calls.emplace_back().start(*p.left, 2, i, 8, traffic_class::urgent).has_value());
    REQUIRE(tickets.emplace_back().send(*p.left, 2, i).has_value());
  }
  REQUIRE(p.settle(calls));
  REQUIRE(w->until([&] { return p.right->in.notices.size() == 50; }));
  for (std::uint8_t i = 0; i < 50; ++i) CHECK(p.right->in.notices[i] == notice_of(i));
  REQUIRE(p.quiet());
  check_credit_is_back(p);
}

TEST_CASE("the notices of a node that wait are bounded, and progress makes room") {
  memory_world w;
  pair p(w);
  w.net.refuse(1, 2);
  w.net.refuse(2, 1);
  std::deque<ticket> tickets(1025);
  for (std::size_t i = 0; i < 1024; ++i) REQUIRE(tickets[i].send(*p.left, 2, 1).has_value());
  const auto refused = tickets[1024].send(*p.left, 2, 1);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == errc::busy);
  CHECK(refused.error().text() == "1024 notices wait for their links, which is the limit");
  CHECK_FALSE(tickets[1024].pending());
  CHECK(p.left->ep->notices_queued() == 1024);
  bool room = false;
  tickets[0].then = [&](ticket&) {
    if (!std::exchange(room, true)) CHECK(tickets[1024].send(*p.left, 2, 1).has_value());
  };
  w.net.admit(1, 2);
  w.net.admit(2, 1);
  REQUIRE(w.until([&] { return p.right->in.notices.size() == 1025; }));
  CHECK(p.left->ep->notices_queued() == 0);
  REQUIRE(p.quiet());
}

TEST_CASE("a notice that a broken link has swallowed is sent again, and delivered once") {
  memory_world w;
  pair p(w);
  w.set_latency(5ms);
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  ticket t;
  SECTION("before it has arrived") {
    REQUIRE(t.send(*p.left, 2, 7).has_value());
    REQUIRE(w.until([&] { return t.has(notice_state::emitted); }));
    w.net.cut(1, 2);
  }
  SECTION("after it has arrived, before that was acknowledged") {
    REQUIRE(t.send(*p.left, 2, 7).has_value());
    REQUIRE(w.until([&] { return p.right->in.notices.size() == 1; }));
    w.net.cut(1, 2);
  }
  CHECK(t.pending());
  REQUIRE(w.until([&] { return t.has(notice_state::acknowledged); }));
  CHECK(t.told == std::vector{notice_state::emitted, notice_state::acknowledged});
  CHECK(p.right->in.notices.size() == 1);
  REQUIRE(p.quiet());
  check_credit_is_back(p);
}

TEST_CASE("a notice is lost with its session, whether it has left or not") {
  memory_world w;
  pair p(w, [](endpoint_options& o) { o.reconnect_grace = 100ms; });
  ticket t;
  SECTION("that was never made") {
    w.net.refuse(1, 2);
    REQUIRE(t.send(*p.left, 2, 7).has_value());
    REQUIRE(w.until([&] { return !t.pending(); }));
    CHECK(t.told == std::vector{notice_state::lost});
    CHECK(t.reason == errc::unreachable);
  }
  SECTION("by a verdict") {
    w.set_latency(10ms);
    call c;
    REQUIRE(c.start(*p.left, 2, 1).has_value());
    REQUIRE(w.until([&] { return c.ends == 1; }));
    REQUIRE(t.send(*p.left, 2, 7).has_value());
    ticket unsent;
    const bool left = GENERATE(true, false);
    if (left) REQUIRE(w.until([&] { return t.has(notice_state::emitted); }));
    p.left->to(2).declare_dead(1);
    CHECK(t.told.back() == notice_state::lost);
    CHECK(t.told.size() == (left ? 2 : 1));
    CHECK(t.reason == errc::peer_died);
    const auto refused = unsent.send(*p.left, 2, 8);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error() == errc::peer_died);
  }
  SECTION("by the end of the node") {
    REQUIRE(t.send(*p.left, 2, 7).has_value());
    p.left->stop();
    CHECK(t.told == std::vector{notice_state::lost});
    CHECK(t.reason == errc::closed);
  }
  CHECK_FALSE(t.pending());
  if (p.left->ep) CHECK(p.left->ep->notices_queued() == 0);
}

TEST_CASE("a notice that has not left goes with the next session") {
  memory_world w;
  pair p(w);
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  w.net.refuse(1, 2);
  w.net.refuse(2, 1);
  w.net.cut(1, 2);
  w.pass(1ms);
  ticket t;
  REQUIRE(t.send(*p.left, 2, 7).has_value());
  p.right->to(1).declare_dead(1);  // gives the session up, and raises the epoch
  p.right->to(1).declare_alive(1);
  w.net.admit(1, 2);
  w.net.admit(2, 1);
  REQUIRE(w.until([&] { return !t.pending(); }));
  CHECK(t.told.back() == notice_state::acknowledged);
  CHECK(p.left->in.losses.size() == 1);
  REQUIRE(p.right->in.notices.size() == 1);
  CHECK(p.right->in.notices[0] == notice_of(7));
}

TEST_CASE("a ticket may be forgotten, destroyed or used again from its own call") {
  memory_world w;
  pair p(w);
  auto gone = std::make_unique<ticket>();
  REQUIRE(gone->send(*p.left, 2, 1).has_value());
  gone.reset();
  auto goes = std::make_unique<ticket>();
  goes->then = [&](ticket&) { goes.reset(); };
  REQUIRE(goes->send(*p.left, 2, 2).has_value());
  ticket forgets;
  forgets.then = [](ticket& t) { t.forget(); };
  REQUIRE(forgets.send(*p.left, 2, 3).has_value());
  ticket repeats;
  int left = 4;
  repeats.then = [&](ticket& t) {
    if (!t.pending() && --left != 0) CHECK(t.send(*p.left, 2, 4).has_value());
  };
  REQUIRE(repeats.send(*p.left, 2, 4).has_value());
  REQUIRE(w.until([&] { return left == 0; }));
  CHECK(p.right->in.notices.size() == 7);
  CHECK(goes == nullptr);
  CHECK(forgets.told == std::vector{notice_state::emitted});
  CHECK_FALSE(forgets.pending());
  REQUIRE(p.quiet());
}

TEST_CASE("a node that drains takes no notice, and waits for those under way") {
  memory_world w;
  pair p(w);
  ticket t;
  REQUIRE(t.send(*p.left, 2, 7).has_value());
  bool clean = false;
  background draining(w.ex(), [](endpoint& e, bool& ok) -> task<> {
    const status s = co_await e.drain(1s);
    ok = s.has_value();
  }(*p.left->ep, clean));
  w.pass(0ns);
  ticket late;
  const auto refused = late.send(*p.left, 2, 8);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error() == errc::closed);
  REQUIRE(w.until([&] { return draining.done(); }));
  CHECK(clean);
  CHECK(t.has(notice_state::acknowledged));
  CHECK(p.right->in.notices.size() == 1);
}

TEST_CASE("a session that begins is told to both sides, and takes a notice from there", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  int left = 0, right = 0;
  ticket t;
  p.left->in.begun = [&](session& peer) {
    CHECK(peer.peer() == 2);
    ++left;
  };
  p.right->in.begun = [&](session& peer) {
    CHECK(peer.peer() == 1);
    if (++right == 1) CHECK(t.send(*p.right, 1, 9).has_value());
  };
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w->until([&] { return c.ends == 1 && !t.pending(); }));
  CHECK(c.answered());
  CHECK(p.left->in.notices.size() == 1);
  CHECK(left == 1);
  CHECK(right == 1);
  // The bulk lane joins the session that there is.
  call d;
  REQUIRE(d.start(*p.left, 2, 2, 8, traffic_class::bulk).has_value());
  REQUIRE(w->until([&] { return d.ends == 1; }));
  CHECK(left == 1);
  CHECK(right == 1);
}

TEST_CASE("a peer that was called dead gets a notice once it has begun a session") {
  memory_world w;
  pair p(w);
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  p.left->to(2).declare_dead(1);
  ticket t;
  CHECK(t.send(*p.left, 2, 7).error() == errc::peer_died);
  p.left->in.begun = [&](session&) { CHECK(t.send(*p.left, 2, 7).has_value()); };
  call back;
  REQUIRE(back.start(*p.right, 1, 2).has_value());
  REQUIRE(w.until([&] { return back.ends == 1 && !t.pending(); }));
  CHECK(p.left->to(2).dead());
  CHECK(t.told.back() == notice_state::acknowledged);
  CHECK(p.right->in.notices.size() == 1);
}
