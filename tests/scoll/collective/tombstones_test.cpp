#include "scoll/collective/tombstones.hpp"

#include <array>
#include <vector>

#include "scoll/collective/limits.hpp"
#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/wire/wire.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

constexpr node_id creator = 7;
constexpr std::uint64_t life = 3;
constexpr group_ending destroyed{group_fate::destroyed, creator, 0};

group_id group_of(std::uint64_t counter, std::uint64_t incarnation = life) {
  return {creator, incarnation, counter, {}};
}

bool refused(const tombstones& t, std::uint64_t counter, std::uint64_t incarnation = life) {
  return static_cast<bool>(t.refusal_of(group_of(counter, incarnation)));
}

creation_statement up_to(std::uint64_t below, const std::vector<std::uint64_t>& exceptions = {}) {
  creation_statement said;
  said.below = below;
  for (const std::uint64_t counter : exceptions) said.exceptions[said.count++] = counter;
  return said;
}

}  // namespace

TEST_CASE("a creator states which of its creations are over", "[tombstones]") {
  own_creations own;
  CHECK(own.statement().below == 1);
  for (std::uint64_t counter = 1; counter <= 10; ++counter) REQUIRE(own.begin() == counter);
  // Ten are under way: the first eight are named, and the ninth bounds the statement.
  creation_statement said = own.statement();
  CHECK(said.below == 9);
  CHECK(said.count == 8);
  for (std::uint64_t counter = 1; counter <= 12; ++counter) CHECK_FALSE(said.covers(counter));
  own.settle(2);
  own.settle(5);
  own.settle(5);
  said = own.statement();
  CHECK(said.below == 11);
  CHECK(said.count == 8);
  for (std::uint64_t counter = 1; counter <= 12; ++counter)
    CHECK(said.covers(counter) == (counter == 2 || counter == 5));
  for (std::uint64_t counter = 1; counter <= 10; ++counter) own.settle(counter);
  CHECK(own.under_way() == 0);
  CHECK(own.statement().below == 11);
  CHECK(own.statement().count == 0);
}

TEST_CASE("a statement is read as it was written, and other bytes are not one", "[tombstones]") {
  std::array<std::byte, max_statement_bytes> bytes{};
  for (const creation_statement& said : {up_to(0), up_to(5, {1}), up_to(900, {1, 2, 3, 4, 5, 6, 7, 899})}) {
    wire::writer out(bytes);
    put_statement(out, said);
    REQUIRE(out.ok());
    REQUIRE(out.needed() == 9U + 8U * said.count);
    wire::reader in(std::span<const std::byte>(bytes).first(out.needed()));
    const auto read = take_statement(in);
    REQUIRE(read.has_value());
    CHECK(in.remaining() == 0);
    CHECK(read->below == said.below);
    CHECK(std::vector(read->excepted().begin(), read->excepted().end()) ==
          std::vector(said.excepted().begin(), said.excepted().end()));
    wire::reader cut(std::span<const std::byte>(bytes).first(out.needed() - 1));
    CHECK_FALSE(take_statement(cut).has_value());
  }
  const auto refuses = [&](const creation_statement& said, std::size_t count_byte) {
    wire::writer out(bytes);
    put_statement(out, said);
    bytes[8] = static_cast<std::byte>(count_byte);
    wire::reader in(bytes);
    return !take_statement(in).has_value();
  };
  CHECK(refuses(up_to(9, {4, 4}), 2));
  CHECK(refuses(up_to(9, {5, 4}), 2));
  CHECK(refuses(up_to(9, {1, 2, 3}), 9));
}

TEST_CASE("a creation that comes after the end of its group is refused", "[tombstones]") {
  tombstones t;
  CHECK_FALSE(refused(t, 4));
  REQUIRE(t.bury(group_of(4), {group_fate::revoked, 9, 77}, true));
  CHECK(refused(t, 4));
  CHECK(t.refusal_of(group_of(4)).by == 9);
  CHECK(t.refusal_of(group_of(4)).reason == 77);
  CHECK(t.refusal_of(group_of(4)).fate == group_fate::revoked);
  CHECK_FALSE(refused(t, 3));
  CHECK_FALSE(refused(t, 4, life + 1));
  // The first end that was heard of stands.
  REQUIRE(t.bury(group_of(4), destroyed, true));
  CHECK(t.refusal_of(group_of(4)).fate == group_fate::revoked);
  CHECK(t.end_of(creator, life, 4).fate == group_fate::revoked);
  CHECK_FALSE(t.end_of(creator, life, 3));
}

TEST_CASE("a group that is only known to be revoked is not called gone", "[tombstones]") {
  tombstones t;
  constexpr group_ending revoked{group_fate::revoked, 9, 77, false};
  REQUIRE(t.bury(group_of(4), revoked, true));
  t.bury_other(group_of(6), revoked);
  CHECK(refused(t, 4));
  CHECK(refused(t, 6));
  CHECK(t.ended_of(creator, life).empty());
  t.bury_other(group_of(6), destroyed);
  CHECK(t.ended_of(creator, life) == counter_ranges{{6, 6}});
  CHECK(t.refusal_of(group_of(6)).fate == group_fate::revoked);  // how it ended stands
  CHECK(t.others() == 1);
}

TEST_CASE("a statement takes the place of the tombstones that it covers", "[tombstones]") {
  tombstones t;
  for (const std::uint64_t counter : std::vector<std::uint64_t>{2, 5, 8, 11})
    REQUIRE(t.bury(group_of(counter), destroyed, true));
  t.hear(creator, life, up_to(9, {5, 6}));
  CHECK(t.size() == 2);
  for (const std::uint64_t counter : std::vector<std::uint64_t>{1, 2, 3, 4, 5, 7, 8, 11})
    CHECK(refused(t, counter));
  for (const std::uint64_t counter : std::vector<std::uint64_t>{6, 9, 10, 12})
    CHECK_FALSE(refused(t, counter));
  // A statement says that a creation is over, not that its group is.
  CHECK_FALSE(t.end_of(creator, life, 2));
  CHECK(t.end_of(creator, life, 5));
  // An older one changes nothing; of the same age, the one with fewer exceptions is later.
  t.hear(creator, life, up_to(4));
  t.hear(creator, life, up_to(9, {5, 6, 7}));
  CHECK_FALSE(refused(t, 6));
  CHECK(refused(t, 7));
  t.hear(creator, life, up_to(9, {6}));
  CHECK(t.size() == 1);
  CHECK(refused(t, 5));
  CHECK_FALSE(refused(t, 6));
}

TEST_CASE("tombstones end with the life of the creator", "[tombstones]") {
  tombstones t;
  REQUIRE(t.bury(group_of(1, 3), destroyed, true));
  REQUIRE(t.bury(group_of(1, 4), destroyed, true));
  REQUIRE(t.bury({creator + 1, 1, 1, {}}, destroyed, true));
  t.end_lives(creator, 3);
  CHECK_FALSE(refused(t, 1, 3));
  CHECK(refused(t, 1, 4));
  CHECK(t.lives() == 2);
  // A creator has few lives at one time: of more than two, the earliest is over.
  REQUIRE(t.bury(group_of(1, 5), destroyed, true));
  REQUIRE(t.bury(group_of(1, 6), destroyed, true));
  CHECK_FALSE(refused(t, 1, 4));
  CHECK(refused(t, 1, 5));
  CHECK(refused(t, 1, 6));
  CHECK(t.lives() == 3);
}

TEST_CASE("a full list of tombstones loses none that may be needed", "[tombstones]") {
  constexpr std::uint64_t most = max_tombstones_of_life;
  tombstones t;
  for (std::uint64_t counter = 1; counter <= most; ++counter) {
    REQUIRE(t.admits_creations(creator, life));
    REQUIRE(t.bury(group_of(counter), destroyed, true));
  }
  CHECK_FALSE(t.admits_creations(creator, life));
  CHECK(t.admits_creations(creator, life + 1));
  CHECK_FALSE(t.bury(group_of(most + 1), destroyed, true));
  CHECK(t.bury(group_of(most), destroyed, true));  // it has one
  for (std::uint64_t counter = 1; counter <= most; ++counter) REQUIRE(refused(t, counter));
  CHECK(t.size() == most);
  t.hear(creator, life, up_to(2));
  CHECK(t.admits_creations(creator, life));
  CHECK(t.bury(group_of(most + 1), destroyed, true));
}

TEST_CASE("a tombstone whose creation has arrived gives way to one that may be needed", "[tombstones]") {
  constexpr std::uint64_t most = max_tombstones_of_life;
  tombstones t;
  for (std::uint64_t counter = 1; counter <= most; ++counter)
    REQUIRE(t.bury(group_of(counter), destroyed, counter != 9));
  CHECK(t.admits_creations(creator, life));
  REQUIRE(t.bury(group_of(most + 1), destroyed, true));
  CHECK_FALSE(refused(t, 9));
  CHECK(refused(t, most + 1));
  CHECK_FALSE(t.admits_creations(creator, life));
  CHECK_FALSE(t.bury(group_of(most + 2), destroyed, true));
}

TEST_CASE("a creation that is late by thousands of groups is refused all the same", "[tombstones]") {
  constexpr std::uint64_t others = 5000;
  own_creations own;
  tombstones t;
  const std::uint64_t late = own.begin();
  // Its time is over, and the member has heard only that.
  own.settle(late);
  REQUIRE(t.bury(group_of(late), destroyed, true));
  for (std::uint64_t i = 0; i < others; ++i) {
    const std::uint64_t counter = own.begin();
    CHECK_FALSE(refused(t, counter));
    own.settle(counter);
    t.hear(creator, life, own.statement());
    REQUIRE(t.bury(group_of(counter), destroyed, true));
  }
  CHECK(refused(t, late));
  CHECK(t.size() == 0);
}

TEST_CASE("a creation that is under way for long is not refused", "[tombstones]") {
  own_creations own;
  tombstones t;
  std::vector<std::uint64_t> slow;
  for (int i = 0; i < 8; ++i) slow.push_back(own.begin());
  for (std::uint64_t i = 0; i < 5000; ++i) {
    own.settle(own.begin());
    t.hear(creator, life, own.statement());
  }
  for (const std::uint64_t counter : slow) CHECK_FALSE(refused(t, counter));
}

TEST_CASE("a million groups that come and go leave no memory behind", "[tombstones]") {
  own_creations own;
  tombstones t;
  std::vector<std::uint64_t> slow;
  std::size_t most = 0;
  const auto pass = [&](std::uint64_t groups) {
    for (std::uint64_t i = 0; i < groups; ++i) {
      const std::uint64_t counter = own.begin();
      // Now and then a creation takes long, and its end is heard of first.
      if (i % 1000 == 0) {
        slow.push_back(counter);
        if (slow.size() > 8) {
          own.settle(slow.front());
          REQUIRE(t.bury(group_of(slow.front()), destroyed, true));
          slow.erase(slow.begin());
        }
        continue;
      }
      own.settle(counter);
      REQUIRE(t.bury(group_of(counter), destroyed, i % 3 == 0));
      t.hear(creator, life, own.statement());
      most = std::max(most, t.size());
    }
  };
  pass(20'000);
  const auto before = allocation_counter::on_this_thread();
  pass(980'000);
  CHECK(most <= 2);
  CHECK(allocation_counter::on_this_thread() - before <= 2000);  // map and vector nodes that come and go
}

TEST_CASE("groups that outlive their creator are remembered by their ids, the latest ones", "[tombstones]") {
  tombstones t;
  for (std::uint64_t counter = 1; counter <= max_other_tombstones + 10; ++counter)
    t.bury_other(group_of(counter), destroyed);
  CHECK(t.others() == max_other_tombstones);
  CHECK_FALSE(refused(t, 10));
  CHECK(refused(t, 11));
  CHECK(t.end_of(creator, life, 11));
  CHECK_FALSE(t.end_of(creator, life, 10));
  t.end_lives(creator, life);
  CHECK(refused(t, 11));
}

TEST_CASE("a group that its proposer lost sight of may exist, though no creation of it is under way",
          "[tombstones]") {
  own_creations own;
  const std::uint64_t first = own.begin(), second = own.begin();
  own.settle(own.begin());
  own.lose_sight(first);
  CHECK(own.statement().below == 4);
  CHECK(own.statement().covers(first));
  CHECK_FALSE(own.statement().covers(second));
  std::vector<std::uint64_t> possible;
  own.each_possible([&](std::uint64_t counter) { possible.push_back(counter); });
  CHECK(possible == std::vector{second, first});
  for (std::size_t i = 0; i < max_groups_out_of_sight; ++i) own.lose_sight(own.begin());
  std::size_t remembered = 0;
  own.each_possible([&](std::uint64_t counter) {
    CHECK(counter != first);
    ++remembered;
  });
  CHECK(remembered == max_groups_out_of_sight + 1);
}

TEST_CASE("the end of a group that outlives its creator is known by its id alone", "[tombstones]") {
  tombstones t;
  t.bury_other(group_of(5), destroyed);
  t.hear(creator, life, up_to(9));
  CHECK(t.end_of_lasting(group_of(5)));
  CHECK_FALSE(t.end_of_lasting(group_of(6)));
  CHECK(refused(t, 6));
}
