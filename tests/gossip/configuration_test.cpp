#include "gossip/configuration.hpp"

#include <algorithm>

#include "gossip/member/agreement.hpp"
#include "gossip/options.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::gossip;
using Catch::Matchers::Contains;
using std::chrono::milliseconds;

TEST_CASE("participants have one order, however they are listed") {
  const auto a =
      configuration::make({"10.0.0.10:7", "10.0.0.9:7", "10.0.0.2:7", "host:3"}, milliseconds(200));
  const auto b =
      configuration::make({"host:3", "10.0.0.2:7", "10.0.0.10:7", "10.0.0.9:7"}, milliseconds(200));
  REQUIRE(a.has_value());
  REQUIRE(b.has_value());
  CHECK((*a)->digest() == (*b)->digest());
  CHECK((*a)->address(0) == "10.0.0.2:7");
  CHECK((*a)->address(1) == "10.0.0.9:7");
  CHECK((*a)->address(2) == "10.0.0.10:7");
  for (participant_index i = 0; i < (*a)->size(); ++i) CHECK((*a)->index_of((*a)->address(i)) == i);
  CHECK_FALSE((*a)->index_of("10.0.0.3:7"));
  CHECK_FALSE((*a)->index_of(""));
}

TEST_CASE("another interval or another list is another configuration") {
  const auto a = configuration::make({"a:1", "a:2"}, milliseconds(200));
  const auto b = configuration::make({"a:1", "a:2"}, milliseconds(201));
  const auto c = configuration::make({"a:1", "a:3"}, milliseconds(200));
  const auto d = configuration::make({"a:1", "a:2", "a:3"}, milliseconds(200));
  CHECK((*a)->digest() != (*b)->digest());
  CHECK((*a)->participants_digest() == (*b)->participants_digest());
  CHECK((*a)->digest() != (*c)->digest());
  CHECK(difference(claim_of(**a), claim_of(**a)) == parameter::none);
  CHECK(difference(claim_of(**a), claim_of(**b)) == parameter::interval);
  CHECK(difference(claim_of(**a), claim_of(**c)) == parameter::participants);
  CHECK(difference(claim_of(**a), claim_of(**d)) == parameter::participants);
  claim other = claim_of(**a);
  other.version = 2;
  CHECK(difference(claim_of(**a), other) == parameter::version);
}

TEST_CASE("bad configurations are refused with the reason") {
  const auto refused = [](std::vector<std::string> list, nanoseconds interval) {
    const auto made = configuration::make(std::move(list), interval);
    REQUIRE_FALSE(made.has_value());
    return made.error();
  };
  CHECK(refused({"a:1", "a:2", "a:1"}, milliseconds(200)).code() == errc::duplicate_target);
  CHECK(refused({}, milliseconds(200)).code() == errc::invalid_argument);
  CHECK(refused({"a:1", ""}, milliseconds(200)).code() == errc::invalid_argument);
  CHECK_THAT(std::string(refused({"a:1"}, milliseconds(199)).text()), Contains("199000 us"));
  CHECK(refused({"a:1"}, nanoseconds(200'000'001)).code() == errc::invalid_argument);
  CHECK(refused(std::vector<std::string>(most_participants + 1, "x"), milliseconds(200)).code() ==
        errc::too_large);
}

TEST_CASE("options are checked against the configuration") {
  const auto shared = configuration::make({"a:1", "a:2"}, milliseconds(200));
  options o;
  CHECK_FALSE(check(o, **shared));  // no incarnation
  o.incarnation = 1;
  CHECK(check(o, **shared));
  o.rtt = milliseconds(400);
  CHECK(check(o, **shared));
  o.rtt = milliseconds(402);
  const status too_slow = check(o, **shared);
  REQUIRE_FALSE(too_slow);
  CHECK_THAT(std::string(too_slow.error().text()), Contains("402 ms"));
  o.rtt = milliseconds(1);
  o.expected_loss = 0.6;
  CHECK_FALSE(check(o, **shared));
  o.expected_loss = 0.05;
  o.false_verdicts_per_year = 0;
  CHECK_FALSE(check(o, **shared));
}

TEST_CASE("no threshold is below what a pause of a second demands") {
  const auto shared = configuration::make({"a:1", "a:2"}, milliseconds(200));
  const auto slow = configuration::make({"a:1", "a:2"}, milliseconds(1000));
  options o;
  o.incarnation = 1;
  for (const std::uint32_t cycles : {1U, 4U, 10U, 201U}) {
    o.threshold_cycles = cycles;
    const status s = check(o, **shared);
    REQUIRE_FALSE(s);
    CHECK(s.error() == errc::invalid_argument);
    CHECK_THAT(std::string(s.error().text()),
               Contains("is not 11 to 200: it must forgive a pause of 1000 ms"));
  }
  for (const std::uint32_t cycles : {0U, 11U, 200U}) {
    o.threshold_cycles = cycles;
    CHECK(check(o, **shared));
  }
  o.threshold_cycles = 7;
  CHECK(check(o, **slow));
  o.threshold_cycles = 6;
  CHECK_FALSE(check(o, **slow));
  o.threshold_cycles = 15;
  o.forgiven_pause = milliseconds(2000);
  CHECK_FALSE(check(o, **shared));
  o.threshold_cycles = 16;
  CHECK(check(o, **shared));
  o.threshold_cycles = 0;
  for (const nanoseconds pause :
       {nanoseconds(0), nanoseconds(999'999'999), nanoseconds(std::chrono::seconds(61))}) {
    o.forgiven_pause = pause;
    const status s = check(o, **shared);
    REQUIRE_FALSE(s);
    CHECK_THAT(std::string(s.error().text()), Contains("forgiven_pause is not 1 s to 1 min"));
  }
}

TEST_CASE("the digest is the SHA-256 that the wire format says") {
  const auto made = configuration::make({"10.0.0.10:7400", "10.0.0.9:7400", "[::1]:80"}, milliseconds(250));
  const auto hex = [](const configuration_digest& digest) {
    std::string text;
    for (const std::byte b : digest) {
      text += "0123456789abcdef"[std::to_integer<unsigned>(b) >> 4];
      text += "0123456789abcdef"[std::to_integer<unsigned>(b) & 15U];
    }
    return text;
  };
  // Made by an independent implementation of docs/wire.md, "Gossip".
  CHECK(hex((*made)->participants_digest()) ==
        "1153072a7e645a137e7c6bba16278f87f251df084a1d96ebf393495634d3abc5");
  CHECK(hex((*made)->digest()) == "d0a9f810a45f200bd6bde33be3c959caabc05b9560d386441185f73ff523e2bd");
}

TEST_CASE("a newcomer that disagrees stops, an established participant only when most disagree") {
  using outcome = agreement::outcome;
  agreement newcomer(100);
  CHECK(newcomer.hear(1, false, true, false) == outcome::differs);  // which parameter was not said yet
  CHECK(newcomer.hear(1, false, true, true) == outcome::stop);
  agreement established(100);
  for (participant_index i = 1; i <= 3; ++i) CHECK(established.hear(i, true, true, false) == outcome::agrees);
  REQUIRE(established.established());
  CHECK(established.hear(4, false, false, true) == outcome::differs);
  CHECK(established.hear(4, false, false, true) == outcome::differs);  // one voice, however often it is heard
  CHECK(established.hear(5, false, true, true) == outcome::differs);
  CHECK(established.hear(6, false, true, true) == outcome::differs);
  CHECK(established.hear(7, false, true, true) == outcome::stop);
  agreement beginner(100);  // all have just started: a wrong one stops no other
  CHECK(beginner.hear(1, false, false, true) == outcome::differs);
  CHECK(beginner.hear(2, true, false, true) == outcome::agrees);
  CHECK(beginner.hear(3, true, false, true) == outcome::agrees);
  CHECK(beginner.hear(4, true, false, true) == outcome::agrees);
  CHECK(beginner.established());
}
