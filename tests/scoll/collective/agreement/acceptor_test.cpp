#include "scoll/collective/agreement/acceptor.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

std::vector<std::byte> one_byte(std::uint8_t b) {
  return {std::byte{b}};
}

constexpr std::uint32_t self = 2;
constexpr ballot low{1, 0}, middle{1, 1}, high{2, 0};

}  // namespace

TEST_CASE("ballots are ordered by round, then by rank", "[agreement]") {
  CHECK(ballot{}.none());
  CHECK_FALSE(low.none());
  CHECK(ballot{} < low);
  CHECK(low < middle);
  CHECK(middle < high);
}

TEST_CASE("a member that has not called promises without a value", "[agreement]") {
  agreement_acceptor a;
  REQUIRE(a.promise(low));
  CHECK_FALSE(a.can_answer());
  const agreement_answers said = a.answer_collect(low, self, {});
  CHECK(said.voters == rank_set{self});
  CHECK(said.contributions.empty());
}

TEST_CASE("a member contributes the value of its first call, unless the proposer holds it", "[agreement]") {
  agreement_acceptor a;
  a.call(one_byte(7));
  a.call(one_byte(8));
  REQUIRE(a.promise(low));
  REQUIRE(a.can_answer());
  const agreement_answers said = a.answer_collect(low, self, {});
  REQUIRE(said.contributions.size() == 1);
  CHECK(said.contributions[0].from == rank_set{self});
  CHECK(said.contributions[0].value == one_byte(7));
  const agreement_answers later = a.answer_collect(low, self, {0, self});
  CHECK(later.voters == rank_set{self});
  CHECK(later.contributions.empty());
}

TEST_CASE("a promise refuses lower ballots and tells them the higher one", "[agreement]") {
  agreement_acceptor a;
  a.call(one_byte(7));
  REQUIRE(a.promise(middle));
  CHECK(a.promise(middle));
  CHECK_FALSE(a.promise(low));
  CHECK_FALSE(a.accept(low, {one_byte(1), {}}));
  CHECK(a.answer_collect(low, self, {}).overtaken_by == middle);
  CHECK(a.answer_accept(low, self).overtaken_by == middle);
  CHECK(a.answer_accept(low, self).voters.empty());
  CHECK(a.accepted().at.none());
}

TEST_CASE("a vote is told to later proposers in place of the value", "[agreement]") {
  agreement_acceptor a;
  a.call(one_byte(7));
  const proposal p{one_byte(3), {1}};
  REQUIRE(a.accept(low, p));
  CHECK(a.answer_accept(low, self).voters == rank_set{self});
  REQUIRE(a.promise(high));
  const agreement_answers said = a.answer_collect(high, self, {});
  CHECK(said.voters == rank_set{self});
  CHECK(said.contributions.empty());
  CHECK(said.accepted.at == low);
  CHECK(said.accepted.what == p);
}

TEST_CASE("a vote can be answered by a member that has not called", "[agreement]") {
  agreement_acceptor a;
  REQUIRE(a.accept(low, {one_byte(3), {self}}));
  CHECK(a.can_answer());
}

TEST_CASE("the first decision stays, and answers everything", "[agreement]") {
  agreement_acceptor a;
  a.decide({one_byte(3), {1}});
  a.decide({one_byte(4), {}});
  REQUIRE(a.promise(high));
  REQUIRE(a.accept(high, {one_byte(5), {}}));
  CHECK(a.decision() == proposal{one_byte(3), {1}});
  CHECK(a.answer_collect(high, self, {}).decided == a.decision());
  CHECK(a.answer_accept(low, self).decided == a.decision());
}

TEST_CASE("answers of a subtree are joined", "[agreement]") {
  agreement_acceptor voted, called, decided;
  const proposal p{one_byte(3), {1}};
  REQUIRE(voted.accept(middle, p));
  called.call(one_byte(7));
  for (agreement_acceptor* a : {&voted, &called}) REQUIRE(a->promise(high));
  agreement_answers all = called.answer_collect(high, 4, {});
  all.forgotten = 1;
  agreement_answers other = voted.answer_collect(high, 5, {});
  other.forgotten = 2;
  other.overtaken_by = low;
  join(all, other);
  CHECK(all.voters == rank_set{4, 5});
  CHECK(all.contributions.size() == 1);
  CHECK(all.accepted.at == middle);
  CHECK(all.accepted.what == p);
  CHECK(all.overtaken_by == low);
  CHECK(all.forgotten == 3);
  CHECK_FALSE(all.decided);
  decided.decide(p);
  join(all, decided.answer_collect(high, 6, {}));
  CHECK(all.decided == p);
}
