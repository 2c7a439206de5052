#include "transport/session/credit_window.hpp"

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"

using scoll::transport::credit_window;

TEST_CASE("a window is open from the greeting on, and each request takes one credit of it", "[credit]") {
  credit_window w;
  CHECK(w.available() == 0);
  CHECK_FALSE(w.may_receive());
  w.open(3, 2);
  CHECK(w.available() == 3);
  w.on_sent();
  CHECK(w.available() == 2);
  w.on_received();
  CHECK(w.may_receive());
  w.on_received();
  CHECK_FALSE(w.may_receive());
}

TEST_CASE("credit comes back when requests are dealt with, and travels as a total", "[credit]") {
  credit_window w;
  w.open(8, 4);
  for (int i = 0; i < 3; ++i) w.on_received();
  CHECK(w.grantable(4) == 4);
  CHECK_FALSE(w.low(4));  // nothing to give yet
  w.on_disposed();
  CHECK(w.low(4));
  CHECK(w.grant(4) == 5);
  CHECK_FALSE(w.low(4));
}

TEST_CASE("an announcement that is repeated or overtaken changes nothing", "[credit]") {
  credit_window w;
  w.open(4, 4);
  CHECK(w.announce(6));
  CHECK(w.available() == 6);
  CHECK_FALSE(w.announce(6));
  CHECK_FALSE(w.announce(5));
  CHECK(w.available() == 6);
}

TEST_CASE("a peer that acknowledges none of its replies gets no credit beyond a second window", "[credit]") {
  credit_window w;
  w.open(0, 4);
  std::uint32_t received = 0;
  while (w.may_receive() && received < 100) {
    w.on_received();
    w.on_disposed();
    w.keep_reply();
    w.grant(4);
    ++received;
  }
  CHECK(received == 8);
  for (int i = 0; i < 4; ++i) w.release_reply();
  CHECK(w.grant(4) == 12);
}

TEST_CASE("what was granted is not taken back when the peer stops acknowledging", "[credit]") {
  credit_window w;
  w.open(0, 4);
  for (int i = 0; i < 20; ++i) w.keep_reply();
  CHECK(w.grantable(4) == 4);
}

TEST_CASE("credit is neither made nor lost, however the two sides take turns, and across the wrap",
          "[credit]") {
  scoll::random_generator random(7);
  constexpr std::uint32_t window = 16;
  credit_window a, b;
  a.open(window, 0);
  b.open(0, window);
  std::uint32_t under_way = 0, open = 0;
  for (int step = 0; step < 200'000; ++step) {
    switch (random.below(4)) {
      case 0:
        if (a.available() != 0) {
          a.on_sent();
          ++under_way;
        }
        break;
      case 1:
        if (under_way != 0) {
          REQUIRE(b.may_receive());
          b.on_received();
          --under_way;
          ++open;
        }
        break;
      case 2:
        if (open != 0) {
          b.on_disposed();
          --open;
        }
        break;
      default: a.announce(b.grant(window));
    }
    REQUIRE(under_way + open + a.available() <= window);
  }
  CHECK(a.sent() > 10 * window);
}

TEST_CASE("a session that has ended leaves no credit", "[credit]") {
  credit_window w;
  w.open(4, 4);
  w.on_sent();
  w.on_received();
  w.reset();
  CHECK(w.available() == 0);
  CHECK_FALSE(w.may_receive());
  CHECK(w.sent() == 0);
}
