#include "scoll/collective/operation/life_permits.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

#include "tests/catch.hpp"

using namespace scoll::detail;

// A model of one member of a broadcast that is repaired, of its lives, and of what its root hears of it.
namespace {

constexpr std::uint32_t most_lives = 4, most_rounds = 4;

/// The ways in which a root may give permits.
enum class rule : std::uint8_t {
  as_it_is,
  first_round_for_any,  ///< only further rounds name lives
  always_as_if_untouched,
};

struct request {
  life_tag permit = for_no_life;
  bool waits = true;  ///< it has not come to any life, and may do so whenever it likes
  friend auto operator<=>(const request&, const request&) = default;
};

struct state {
  std::uint32_t life = 1;
  std::set<std::uint32_t> has_seen;  // the lives whose replay window has the broadcast
  std::uint32_t executions = 0;
  std::vector<request> requests;  // one a round
  bool asked = false;             // the root has not given the last one up, nor heard of its end
  bool untouched = true;
  life_tag given = for_no_life;
  friend auto operator<=>(const state&, const state&) = default;
};

/// Visits every state, and counts those in which the member has executed twice.
class model {
 public:
  explicit model(rule by) : by_(by) {}

  std::size_t double_executions() {
    for (const bool known : {true, false}) {
      state first;
      first.given = known ? tag_of_life(1) : for_any_life;
      ask(first, by_ == rule::first_round_for_any ? for_any_life : first.given);
      visit(first);
    }
    return twice_;
  }
  std::size_t states() const { return visited_.size(); }

 private:
  static void ask(state& s, life_tag permit) {
    s.requests.push_back({permit});
    s.asked = true;
  }

  void visit(const state& s) {
    if (!visited_.insert(s).second) return;
    if (s.executions > 1) {
      ++twice_;
      return;
    }
    if (s.life < most_lives) {
      state next = s;
      ++next.life;
      visit(next);
    }
    for (std::size_t i = 0; i != s.requests.size(); ++i) {
      if (s.requests[i].waits) come(s, i);
    }
    if (s.asked) end_last(s);
    if (!s.asked && s.requests.size() < most_rounds) ask_again(s);
  }

  /// The request comes to the present life. If it is the last one, the root may hear the answer, or lose it.
  void come(state next, std::size_t which) {
    request& r = next.requests[which];
    r.waits = false;
    const bool seen = next.has_seen.contains(next.life);
    const bool executes = !seen && (r.permit == for_any_life || r.permit == tag_of_life(next.life));
    if (executes) {
      next.has_seen.insert(next.life);
      ++next.executions;
    }
    visit(next);
    const bool last = which + 1 == next.requests.size() && next.asked;
    if (!last || executes || seen) return;  // the root would ask no more
    next.asked = false;                     // it hears that this request has done nothing
    visit(next);
  }

  /// The root withdraws the request before it has left, or it gives up a member above that has it, or may have it.
  void end_last(const state& s) {
    if (s.requests.back().waits) {
      state next = s;
      next.requests.back().waits = false;
      next.asked = false;
      visit(next);
    }
    state next = s;
    next.asked = next.untouched = false;
    visit(next);
  }

  void ask_again(const state& s) {
    for (const life_tag known : {for_any_life, tag_of_life(s.life)}) {
      state next = s;
      life_permits permits;
      permits.begin({s.given});
      const bool untouched = s.untouched || by_ == rule::always_as_if_untouched;
      next.given = permits.give(0, untouched, known);
      ask(next, next.given);
      visit(next);
    }
  }

  rule by_;
  std::set<state> visited_;
  std::size_t twice_ = 0;
};

}  // namespace

TEST_CASE("a member executes once in all of its lives, however its requests wait and get lost", "[repair]") {
  model all(rule::as_it_is);
  CHECK(all.double_executions() == 0);
  CHECK(all.states() > 1'000);
}

TEST_CASE(
    "a member would execute twice if the first round named no lives, or touched members got other permits",
    "[repair]") {
  for (const rule wrong : {rule::first_round_for_any, rule::always_as_if_untouched})
    CHECK(model(wrong).double_executions() != 0);
}

TEST_CASE("another permit is given only to a member that no request has touched", "[repair]") {
  life_permits permits;
  CHECK_FALSE(permits.needed());
  const life_tag first = tag_of_life(1), second = tag_of_life(2);
  permits.begin({for_any_life, first});
  CHECK(permits.needed());
  CHECK(permits.give(0, false, second) == for_no_life);
  CHECK(permits.give(0, true, second) == second);
  CHECK(permits.give(0, false, first) == second);
  CHECK(permits.give(1, false, second) == first);
  CHECK(permits.give(1, true, for_any_life) == for_any_life);
  CHECK(permits.give(1, false, second) == for_no_life);
  CHECK(permits.of(1) == for_no_life);
}
