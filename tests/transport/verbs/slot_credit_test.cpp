#include "transport/verbs/slot_credit.hpp"

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"

using namespace scoll::transport::verbs;

TEST_CASE("what the immediate value says is read as it was written") {
  const slot_news said{0xabcdef, 200};
  const slot_news read = slot_news::unpack(said.pack());
  CHECK(read.promised == 0xabcdef);
  CHECK(read.given_back == 200);
}

TEST_CASE("the last place is kept for promises") {
  sending_credit c;
  CHECK_FALSE(c.allows_news());
  REQUIRE(c.learn(least_slots));
  CHECK(c.left() == 4);
  c.use(3);
  CHECK_FALSE(c.allows_data());
  CHECK(c.allows_news());
  c.use();
  CHECK_FALSE(c.allows_news());
}

TEST_CASE("promises go on beyond the largest count") {
  sending_credit c;
  std::uint32_t promised = 0;
  for (int i = 0; i < 1000; ++i) {
    promised = (promised + 60000) & slot_news::count_mask;
    REQUIRE(c.learn(promised));
    REQUIRE(c.left() == 60000);
    c.use(60000);
  }
}

TEST_CASE("a count that goes back, or beyond all bounds, is no promise") {
  sending_credit c;
  REQUIRE(c.learn(10));
  CHECK_FALSE(c.learn(9));
  CHECK_FALSE(c.learn(10 + most_slots));
  CHECK(c.learn(10));
  CHECK(c.left() == 10);
}

TEST_CASE("what arrives without a promise is noticed") {
  receiving_credit r;
  for (std::uint32_t i = 0; i < least_slots; ++i) REQUIRE(r.arrived(0));
  CHECK_FALSE(r.arrived(0));
  CHECK(r.outstanding() == 0);
  r.renew();
  CHECK(r.outstanding() == least_slots);
  CHECK_FALSE(r.arrived(least_slots));  // itself, and four given back
}

TEST_CASE("links share the places, a quarter is for new ones, and what is given back can be granted again") {
  slot_budget b(256);  // 64 may be held, so 192 are shared out, 144 of them to links that grow
  CHECK(b.holdable() == 64);
  REQUIRE(b.admit());
  std::uint32_t window = least_slots;
  while (const std::uint32_t more = b.grow(window, 1000)) window += more;
  CHECK(window == 144);
  int links = 1;
  while (b.admit()) ++links;
  CHECK(links == 1 + (192 - 144) / 4);
  CHECK(b.grow(least_slots, 1000) == 0);
  b.give_back(window - least_slots);
  CHECK(b.admit());
  CHECK(b.grow(least_slots, 6) == 2);
}

namespace {

/// One end of a link, without a queue pair.
struct credit_end {
  sending_credit out;
  receiving_credit in;
  std::uint32_t window_sum = least_slots;  // as the device's budget counts it

  credit_end() { REQUIRE(out.learn(least_slots)); }
};

/// Moves one SEND. It must find a place.
void move(credit_end& from, credit_end& to, std::uint32_t given_back) {
  from.out.use(1 + given_back);
  const auto news = slot_news::unpack(slot_news{from.in.tell(), given_back}.pack());
  REQUIRE(to.in.arrived(news.given_back));
  REQUIRE(to.out.learn(news.promised));
}

}  // namespace

TEST_CASE("two ends that send, tell and give back in any order never stop and never lack a place") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    scoll::random_generator random(seed);
    slot_budget budget(64);
    credit_end ends[2];
    REQUIRE(budget.admit());
    REQUIRE(budget.admit());
    std::uint32_t sent[2] = {};
    for (int step = 0; step < 2000; ++step) {
      const auto which = static_cast<std::size_t>(random.below(2));
      credit_end& a = ends[which];
      credit_end& b = ends[1 - which];
      if (a.out.allows_data() && random.chance(3, 4)) {
        move(a, b, 0);
        ++sent[which];
      } else if (a.in.worth_telling() && a.out.allows_news()) {
        move(a, b, 0);
      } else if (a.out.left() > least_slots + 1 && random.chance(1, 4)) {
        const std::uint32_t before = b.in.window();
        move(a, b, a.out.left() - 1 - least_slots);
        budget.give_back(before - b.in.window());
      }
      if (b.in.wants_growth()) b.in.grow(budget.grow(b.in.window(), 16));
      b.in.renew();
      REQUIRE(a.in.outstanding() <= a.in.window());
      REQUIRE(b.in.outstanding() <= b.in.window());
      REQUIRE(a.in.window() + b.in.window() == budget.granted());
    }
    CHECK(sent[0] > 100);
    CHECK(sent[1] > 100);
  }
}
