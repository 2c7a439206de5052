#include "scoll/collective/agreement/proposer.hpp"

#include <vector>

#include "scoll/collective/agreement/acceptor.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

using step = agreement_proposer::step;

constexpr std::uint32_t member_count = 5;

std::vector<std::byte> byte_of(unsigned b) {
  return {static_cast<std::byte>(b)};
}

status add(std::vector<std::byte>& into, std::span<const std::byte> from) {
  const unsigned sum = std::to_integer<unsigned>(into[0]) + std::to_integer<unsigned>(from[0]);
  if (sum > 200) return error(errc::too_large, "the sum is too large");
  into = byte_of(sum);
  return {};
}

agreement_proposer make(std::uint32_t rank = 1, quorum_rule rule = quorum_rule::majority) {
  return {member_count, rank, rule, &add};
}

/// Promises of `voters`, of whom each of `called` contributes 2 to the power of its rank.
agreement_answers promises(const rank_set& voters, const rank_set& called) {
  agreement_answers a;
  a.voters = voters;
  called.for_each([&](std::uint32_t r) { a.contributions.push_back({{r}, byte_of(1U << r)}); });
  return a;
}
agreement_answers votes(const rank_set& voters) {
  agreement_answers a;
  a.voters = voters;
  return a;
}

const rank_set all = rank_set::all(member_count);

step collected(agreement_proposer& p, const agreement_answers& a, const rank_set& dead = {}) {
  return p.after_collect(a, all, all, dead);
}

}  // namespace

TEST_CASE("a proposal merges everybody, and is decided by more than half", "[agreement]") {
  auto p = make();
  CHECK(p.next_ballot({}) == ballot{1, 1});
  REQUIRE(collected(p, promises(all, all)) == step::accept);
  CHECK(p.own_proposal());
  CHECK(p.proposed() == proposal{byte_of(31), {}});
  CHECK(p.after_accept(votes({0, 1}), all, {0, 1, 2, 3, 4}, {}) == step::collect);
  REQUIRE(p.next_ballot({}) == ballot{2, 1});
  REQUIRE(collected(p, promises(all, {})) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(31), {}});
  CHECK(p.after_accept(votes({0, 1, 4}), all, all, {}) == step::decided);
}

TEST_CASE("a ballot is above one's own promise and all that was heard of", "[agreement]") {
  auto p = make();
  CHECK(p.next_ballot({4, 3}) == ballot{5, 1});
  agreement_answers overtaken;
  overtaken.overtaken_by = {9, 3};
  CHECK(collected(p, overtaken) == step::collect);
  CHECK(p.next_ballot({4, 3}) == ballot{10, 1});
}

TEST_CASE("members that have not called are waited for, and those that have are not asked again",
          "[agreement]") {
  auto p = make();
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, {0, 1, 3})) == step::collect);
  CHECK(p.held() == rank_set{0, 1, 3});
  CHECK(p.waits({}));
  CHECK_FALSE(p.waits({2, 4}));
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, {2})) == step::collect);
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, {4})) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(31), {}});
}

TEST_CASE("a contribution that comes twice counts once", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, {0, 1, 3})) == step::collect);
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, all)) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(31), {}});
}

TEST_CASE("members held dead fail, unless they have contributed before", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, {0, 1, 3})) == step::collect);
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0, 1, 2}, {2}), {0, 1, 2}, {0, 1, 2}, {3, 4}) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(15), {4}});
}

TEST_CASE("survivors wait for a member that nobody holds dead, however often it is not reached",
          "[agreement]") {
  auto p = make(1, quorum_rule::survivors);
  const rank_set near{0, 1, 2, 3};
  for (int i = 0; i < 3; ++i) {
    p.next_ballot({});
    REQUIRE(p.after_collect(promises(near, i == 0 ? near : rank_set{}), all, near, {}) == step::collect_more);
    REQUIRE(p.after_collect({}, {4}, {}, {}) == step::collect);
    CHECK(p.given_up({}).empty());
  }
  p.next_ballot({});
  REQUIRE(p.after_collect(promises(near, {}), near, near, {4}) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(15), {4}});
  CHECK(p.after_accept(votes(near), near, near, {4}) == step::decided);
}

TEST_CASE("values that could not be merged do not spoil a later attempt", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  agreement_answers heavy = promises(all, {0, 1});
  heavy.contributions.push_back({{2}, byte_of(200)});
  REQUIRE(collected(p, heavy) == step::failed);
  CHECK(p.failure() == errc::too_large);
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0, 1, 3, 4}, {3, 4}), all, {0, 1, 3, 4}, {2}) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(27), {2}});
}

TEST_CASE("members that were not reached are asked once more, and then fail", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0, 1, 2}, {0, 1, 2}), all, {0, 1, 2}, {}) == step::collect_more);
  CHECK(p.missing() == rank_set{3, 4});
  CHECK(p.current() == ballot{1, 1});
  REQUIRE(p.after_collect(promises({4}, {4}), {3, 4}, {4}, {}) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(23), {3}});
  CHECK(p.given_up({}) == rank_set{3});
  REQUIRE(p.after_accept(votes({0, 1}), {0, 1, 2, 4}, {0, 1}, {}) == step::accept_more);
  CHECK(p.missing() == rank_set{2, 4});
  CHECK(p.after_accept(votes({4}), {2, 4}, {4}, {}) == step::decided);
}

TEST_CASE("a member that answers at the second time of asking does not fail", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0, 1, 2}, {0, 1}), all, {0, 1, 2}, {}) == step::collect_more);
  REQUIRE(p.after_collect(promises({3, 4}, {3, 4}), {3, 4}, {3, 4}, {}) == step::collect);
  CHECK(p.given_up({}).empty());
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, {2})) == step::accept);
  CHECK(p.proposed().failed.empty());
}

TEST_CASE("with more than half not reached all of them get another chance", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0, 1}, {0, 1}), all, {0, 1}, {}) == step::collect_more);
  REQUIRE(p.after_collect({}, {2, 3, 4}, {}, {}) == step::collect);
  CHECK(p.given_up({}).empty());
}

TEST_CASE("half of the members do not decide", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  CHECK(p.after_collect(promises({0, 1}, {0, 1}), {0, 1}, {0, 1}, {2, 3, 4}) == step::no_quorum);
  CHECK(is_quorum(quorum_rule::majority, 4, {0, 1, 2}, {}));
  CHECK_FALSE(is_quorum(quorum_rule::majority, 4, {0, 1}, {2, 3}));
}

TEST_CASE("survivors decide when all that are not given up agree", "[agreement]") {
  auto p = make(1, quorum_rule::survivors);
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0, 1}, {0, 1}), {0, 1}, {0, 1}, {2, 3, 4}) == step::accept);
  CHECK(p.proposed() == proposal{byte_of(3), {2, 3, 4}});
  CHECK(p.after_accept(votes({1}), {0, 1}, {0, 1}, {2, 3, 4}) != step::decided);
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0, 1}, {}), {0, 1}, {0, 1}, {2, 3, 4}) == step::accept);
  CHECK(p.after_accept(votes({0, 1}), {0, 1}, {0, 1}, {2, 3, 4}) == step::decided);
}

TEST_CASE("the proposal accepted under the highest ballot is taken over, whoever has called", "[agreement]") {
  auto p = make();
  p.next_ballot({3, 0});
  agreement_answers a = promises({0, 1, 2}, {1});
  a.accepted = {{3, 0}, {byte_of(9), {4}}};
  REQUIRE(collected(p, a) == step::accept);
  CHECK_FALSE(p.own_proposal());
  CHECK(p.proposed() == proposal{byte_of(9), {4}});
}

TEST_CASE("a proposal that too few have been asked about is not taken over yet", "[agreement]") {
  auto p = make();
  p.next_ballot({3, 0});
  agreement_answers a = promises({1, 2}, {1});
  a.accepted = {{3, 0}, {byte_of(9), {4}}};
  REQUIRE(collected(p, a) == step::collect);
}

TEST_CASE("what is decided is adopted at once", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  agreement_answers a;
  a.decided = proposal{byte_of(9), {4}};
  REQUIRE(p.after_collect(a, all, {0}, {}) == step::decided);
  CHECK(p.proposed() == *a.decided);
}

TEST_CASE("a proposer gives way to a living one of a lower rank only", "[agreement]") {
  for (const std::uint32_t by : {0U, 2U}) {
    for (const bool dead : {false, true}) {
      auto p = make();
      p.next_ballot({});
      agreement_answers a = promises({1}, {1});
      a.overtaken_by = {2, by};
      const step then = collected(p, a, dead ? rank_set{by} : rank_set{});
      CHECK(then == (by == 0 && !dead ? step::yield : step::collect));
    }
  }
  auto p = make();
  p.next_ballot({});
  REQUIRE(collected(p, promises(all, all)) == step::accept);
  agreement_answers a = votes({1, 2});
  a.overtaken_by = {2, 0};
  CHECK(p.after_accept(a, all, all, {}) == step::yield);
}

TEST_CASE("an instance that members have forgotten is stale, unless they have voted before", "[agreement]") {
  auto p = make();
  p.next_ballot({1, 0});
  agreement_answers a = promises({0, 1, 2}, {0, 1, 2});
  a.forgotten = 2;
  CHECK(collected(p, a) == step::stale);
  p.next_ballot({});
  a.accepted = {{1, 0}, {byte_of(9), {}}};
  CHECK(collected(p, a) == step::accept);
}

TEST_CASE("values that do not merge end the proposer", "[agreement]") {
  auto p = make();
  p.next_ballot({});
  agreement_answers a = promises(all, {});
  a.contributions = {{{0}, byte_of(150)}, {{1}, byte_of(150)}};
  REQUIRE(collected(p, a) == step::failed);
  CHECK(p.failure() == errc::too_large);
}

TEST_CASE("a group of one decides alone", "[agreement]") {
  agreement_proposer p(1, 0, quorum_rule::majority, &add);
  p.next_ballot({});
  REQUIRE(p.after_collect(promises({0}, {0}), {0}, {0}, {}) == step::accept);
  CHECK(p.after_accept(votes({0}), {0}, {0}, {}) == step::decided);
}
