#include "scoll/collective/operation/fold.hpp"

#include <array>
#include <map>
#include <optional>

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

constexpr std::array states{member_state::merged, member_state::executed, member_state::failed,
                            member_state::not_reached, member_state::unknown};

settled_member settled(member_state state, bool by_itself, errc code = errc::io_error) {
  if (state == member_state::merged) return {state, {}, false};
  return {state, {phase::execute, code, 4}, by_itself};
}

}  // namespace

TEST_CASE("what a later round says of a member is folded into what is known of it", "[repair]") {
  using enum member_state;
  // By the earlier state; then by the later one, and whether the member itself says so.
  struct row {
    member_state merged, executed, failed, refused, not_reached, unknown;
  };
  const std::map<member_state, row> table{
      {merged, {merged, merged, merged, merged, merged, merged}},
      {executed, {merged, executed, executed, executed, executed, executed}},
      {failed, {merged, executed, failed, failed, failed, unknown}},
      {not_reached, {merged, executed, failed, failed, not_reached, unknown}},
      {unknown, {merged, executed, failed, unknown, unknown, unknown}},
  };
  for (const member_state earlier : states) {
    const row& expected = table.at(earlier);
    const auto with = [&](member_state later, bool by_itself) {
      return fold(settled(earlier, true), settled(later, by_itself)).state;
    };
    INFO(to_string(earlier));
    CHECK(with(merged, false) == expected.merged);
    for (const bool by_itself : {false, true}) {
      CHECK(with(executed, by_itself) == expected.executed);
      CHECK(with(not_reached, by_itself) == expected.not_reached);
      CHECK(with(unknown, by_itself) == expected.unknown);
    }
    CHECK(with(failed, true) == expected.failed);
    CHECK(with(failed, false) == expected.refused);
  }
}

TEST_CASE("a folded state keeps the cause of the round that it comes from", "[repair]") {
  const auto early = [](member_state s) { return settled(s, true, errc::connection_lost); };
  const auto late = [](member_state s) { return settled(s, true, errc::deadline_exceeded); };
  for (const member_state earlier : states) {
    for (const member_state later : states) {
      const settled_member folded = fold(early(earlier), late(later));
      if (folded.state == member_state::merged) {
        CHECK(folded.why == cause{});
        continue;
      }
      const bool kept = folded == early(earlier);
      CHECK((kept || folded == late(later)));
    }
  }
}

TEST_CASE("what a member says itself is told before what others say of it", "[repair]") {
  const settled_member lost{member_state::unknown, {phase::delivery, errc::peer_died, 1}, false};
  const settled_member late{member_state::unknown, {phase::execute, errc::deadline_exceeded, 4}, true};
  const settled_member lost_again{member_state::unknown, {phase::delivery, errc::connection_lost, 0}, false};
  CHECK(fold(lost, late) == late);
  CHECK(fold(lost, lost_again) == lost);
  CHECK(fold(late, lost_again) == late);
}

TEST_CASE("members are open whose state a further round may change for the better", "[repair]") {
  const auto open = [](member_state s, phase where, errc code) {
    return is_open({s, {where, error(code, ""), 0}, false});
  };
  CHECK(open(member_state::not_reached, phase::delivery, errc::connection_lost));
  CHECK(open(member_state::not_reached, phase::prepare, errc::io_error));
  CHECK(open(member_state::unknown, phase::delivery, errc::connection_lost));
  CHECK(open(member_state::unknown, phase::execute, errc::deadline_exceeded));
  CHECK(open(member_state::failed, phase::admission, errc::busy));
  CHECK_FALSE(open(member_state::unknown, phase::admission, errc::record_gone));
  CHECK_FALSE(open(member_state::failed, phase::admission, errc::unknown_group));
  CHECK_FALSE(open(member_state::failed, phase::execute, errc::busy));
  CHECK_FALSE(open(member_state::executed, phase::reply, errc::too_large));
  CHECK_FALSE(open(member_state::merged, phase::none, errc::ok));
}

TEST_CASE("accounts are folded member by member, however their runs lie", "[repair]") {
  random_generator random(7);
  for (int i = 0; i < 500; ++i) {
    constexpr std::uint32_t n = 24;
    std::array<std::optional<settled_member>, n> before, after;
    const auto draw = [&](auto& members, std::uint64_t absent) {
      outcome_builder account;
      for (std::uint32_t r = 0; r < n;) {
        const auto last = std::min<std::uint32_t>(n, r + 1 + static_cast<std::uint32_t>(random.below(5)));
        const member_state state = states[random.below(states.size())];
        const bool own = random.below(2) == 0;
        if (random.below(4) < absent) {
          r = last;
          continue;
        }
        for (; r != last; ++r) {
          const cause why{phase::execute, error(errc::io_error, ""), own ? r : n};
          const bool is_merged = state == member_state::merged;
          account.add({r, r + 1}, state, is_merged ? std::uint16_t{0} : account.add_cause(why));
          members[r] = settled_member{state, is_merged ? cause{} : why, own && !is_merged};
        }
      }
      return account;
    };
    outcome_builder account = draw(before, 1);
    const outcome_builder later = draw(after, 2);
    fold_into(account, later);
    std::array<std::optional<member_state>, n> found;
    for (const member_report& run : account.runs()) {
      for (std::uint32_t r = run.members.first; r != run.members.last; ++r) found[r] = run.state;
    }
    for (std::uint32_t r = 0; r < n; ++r) {
      INFO("draw " << i << ", member " << r);
      REQUIRE(found[r].has_value() == before[r].has_value());
      if (!before[r]) continue;
      const settled_member expected = after[r] ? fold(*before[r], *after[r]) : *before[r];
      REQUIRE(*found[r] == expected.state);
    }
  }
}
