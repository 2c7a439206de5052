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

TEST_CASE("participants with ids are in the order of their ids, whatever their addresses are") {
  const auto made = configuration::of_entries(
      {{20, {"10.0.0.1:7", "10.1.0.1:7"}}, {3, {"10.0.0.9:7", "10.1.0.9:7"}}, {7, {"10.0.0.5:7"}}},
      milliseconds(200));
  REQUIRE(made.has_value());
  const configuration& c = **made;
  REQUIRE(c.size() == 3);
  CHECK(c.id(0) == 3);
  CHECK(c.id(1) == 7);
  CHECK(c.id(2) == 20);
  CHECK(c.address(0) == "10.0.0.9:7");
  CHECK(c.addresses(0).size() == 2);
  CHECK(c.addresses(1).size() == 1);
  CHECK(c.addresses(2)[1] == "10.1.0.1:7");
  for (participant_index i = 0; i < c.size(); ++i) {
    CHECK(c.index_of_id(c.id(i)) == i);
    for (const std::string& address : c.addresses(i)) CHECK(c.index_of(address) == i);
  }
  CHECK_FALSE(c.index_of_id(4));
  CHECK_FALSE(c.index_of("10.1.0.5:7"));
}

TEST_CASE("bare addresses have the ids 1, 2 and so on in their order") {
  const auto bare = configuration::make({"10.0.0.10:7", "10.0.0.9:7"}, milliseconds(200)).value();
  const auto entries =
      configuration::of_entries({{0, {"10.0.0.9:7"}}, {0, {"10.0.0.10:7"}}}, milliseconds(200)).value();
  const auto with_ids =
      configuration::of_entries({{2, {"10.0.0.10:7"}}, {1, {"10.0.0.9:7"}}}, milliseconds(200)).value();
  CHECK(bare->id(0) == 1);
  CHECK(bare->address(0) == "10.0.0.9:7");
  CHECK(bare->id(1) == 2);
  CHECK(bare->digest() == entries->digest());
  CHECK(bare->digest() == with_ids->digest());
}

TEST_CASE("the digest depends on ids and on the order of the rails") {
  const auto digest = [](std::vector<participant_entry> entries) {
    return configuration::of_entries(std::move(entries), milliseconds(200)).value()->digest();
  };
  const auto usual = digest({{1, {"a:1", "b:1"}}, {2, {"a:2", "b:2"}}});
  CHECK(usual == digest({{2, {"a:2", "b:2"}}, {1, {"a:1", "b:1"}}}));
  CHECK(usual != digest({{1, {"b:1", "a:1"}}, {2, {"a:2", "b:2"}}}));
  CHECK(usual != digest({{1, {"a:1", "b:1"}}, {3, {"a:2", "b:2"}}}));
  CHECK(usual != digest({{1, {"a:1", "b:1", "a:2"}}, {2, {"b:2"}}}));
  CHECK(usual != digest({{1, {"a:1"}}, {2, {"a:2"}}}));
}

TEST_CASE(
    "a list in which some have ids and others have none is refused, as are ids and addresses named twice") {
  const auto refused = [](std::vector<participant_entry> entries) {
    const auto made = configuration::of_entries(std::move(entries), milliseconds(200));
    REQUIRE_FALSE(made.has_value());
    return made.error();
  };
  const error mixed = refused({{4, {"a:1"}}, {0, {"a:2"}}});
  CHECK(mixed == errc::invalid_argument);
  CHECK(mixed.text() ==
        "gossip: participant 4 has an id, but a:2 has none: give an id to every participant, "
        "or to none");
  CHECK_THAT(std::string(refused({{0, {"a:1"}}, {4, {"a:2"}}}).text()),
             Contains("a:1 has no id, but participant 4 has one"));
  const error several = refused({{0, {"a:1", "b:1"}}});
  CHECK(several == errc::invalid_argument);
  CHECK_THAT(std::string(several.text()), Contains("a:1 has 2 addresses and no id"));
  CHECK(refused({{1, {}}}) == errc::invalid_argument);
  const error many = refused({{1, std::vector<std::string>(9, "a:1")}});
  CHECK(many == errc::invalid_argument);
  CHECK_THAT(std::string(many.text()), Contains("participant 1 has 9 addresses, not 1 to 8"));
  const error twice = refused({{1, {"a:1"}}, {1, {"a:2"}}});
  CHECK(twice == errc::duplicate_target);
  CHECK_THAT(std::string(twice.text()), Contains("participant 1 is named twice"));
  const error shared = refused({{1, {"a:1", "b:1"}}, {2, {"b:1"}}});
  CHECK(shared == errc::duplicate_target);
  CHECK_THAT(std::string(shared.text()), Contains("b:1 is named twice"));
  CHECK(refused({{1, {"a:1", "a:1"}}}) == errc::duplicate_target);
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
  other.version = protocol_version + 1;
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
        "93a8e5375d19a2ed2440853d4d3d4c0845258773e23e874ded0cfe941d0459c8");
  CHECK(hex((*made)->digest()) == "a25acc9b1fbcf86b9069aa3bafcdbfe7a1a11bec9b1f627ea5b0d9d11320cb02");
  const auto on_rails = configuration::of_entries(
      {{3, {"10.0.0.9:7400", "10.1.0.9:7400"}}, {7, {"10.0.0.2:7400", "10.1.0.2:7400"}}}, milliseconds(250));
  CHECK(hex((*on_rails)->participants_digest()) ==
        "b1613ee9f203784b794994e0488ccad2c29eebf073cfa1899428476b749f8b9c");
  CHECK(hex((*on_rails)->digest()) == "19080d05a1eeeefc4852679697a92c8b812befb5533d7a0ea2a45609e772e90a");
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
