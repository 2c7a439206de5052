#include "scoll/collective/outcome_builder.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "scoll/collective/outcome.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"
#include "tests/support/build.hpp"

using namespace scoll;
using detail::outcome_builder;

namespace {

using bytes = std::vector<std::byte>;

bytes encoded(const outcome_builder& a) {
  bytes buffer(account_reserve_bytes);
  wire::writer out(buffer);
  a.encode(out);
  REQUIRE(out.ok());
  buffer.resize(out.needed());
  return buffer;
}

bool is_dense(const bytes& from) {
  return from[0] == std::byte{1};
}

status decoded(outcome_builder& into, const bytes& from, const std::vector<rank_range>& subtree) {
  wire::reader in(from);
  const status s = into.decode(in, subtree);
  if (s && in.remaining() != 0) return error(errc::malformed, "left over");
  return s;
}

std::vector<rank_range> ranges_of(const outcome_builder& a) {
  std::vector<rank_range> ranges;
  for (const member_report& run : a.runs()) {
    if (!ranges.empty() && ranges.back().last == run.members.first) {
      ranges.back().last = run.members.last;
    } else {
      ranges.push_back(run.members);
    }
  }
  return ranges;
}

cause some_cause(random_generator& random, std::uint32_t kinds) {
  const auto kind = static_cast<std::uint32_t>(random.below(kinds));
  const auto code = static_cast<errc>(1 + kind % 27);
  const std::string text(kind % 97, static_cast<char>('a' + kind % 26));
  return {static_cast<phase>(1 + kind % 7),
          error(code, text, static_cast<std::int32_t>(kind) - 50, static_cast<error_domain>(kind % 3)),
          kind % 40};
}

/// An outcome_builder of random members, states and causes.
outcome_builder some_account(random_generator& random, std::uint32_t members, std::uint32_t kinds,
                             bool with_gaps) {
  outcome_builder a;
  std::uint32_t next = static_cast<std::uint32_t>(random.below(10));
  while (next < members) {
    const auto size = static_cast<std::uint32_t>(1 + random.below(6));
    const auto state = static_cast<member_state>(random.below(5));
    const std::uint16_t why =
        state == member_state::merged ? std::uint16_t{0} : a.add_cause(some_cause(random, kinds));
    a.add({next, next + size}, state, why);
    next += size;
    if (with_gaps) next += static_cast<std::uint32_t>(random.below(4));
  }
  a.normalise();
  return a;
}

bool same_but_text(const cause& a, const cause& b) {
  return a.where == b.where && a.what.code() == b.what.code() && a.what.detail() == b.what.detail() &&
         a.what.domain() == b.what.domain() && a.reporter == b.reporter;
}

/// Compares two accounts by member: state and cause must be equal; `texts` says if the texts of causes must
/// be, too.
void check_same(const outcome_builder& before, const outcome_builder& after, bool texts) {
  REQUIRE(before.runs().size() == after.runs().size());
  for (std::size_t i = 0; i < before.runs().size(); ++i) {
    const member_report& a = before.runs()[i];
    const member_report& b = after.runs()[i];
    REQUIRE(a.members == b.members);
    REQUIRE(a.state == b.state);
    const cause& x = before.causes()[a.cause_index];
    const cause& y = after.causes()[b.cause_index];
    REQUIRE(same_but_text(x, y));
    if (texts) REQUIRE(x.what.text() == y.what.text());
  }
}

/// An accepted account names exactly these members, in states and with causes that exist.
void check_consistent(const outcome_builder& a, const std::vector<rank_range>& subtree) {
  outcome_builder sorted = a;
  sorted.normalise();
  REQUIRE(ranges_of(sorted) == subtree);
  REQUIRE(std::all_of(sorted.runs().begin(), sorted.runs().end(), [&](const member_report& run) {
    return run.state <= member_state::unknown && run.cause_index < sorted.causes().size() &&
           (run.state != member_state::merged || run.cause_index == 0);
  }));
}

}  // namespace

TEST_CASE("random accounts travel unchanged", "[account]") {
  random_generator random(7);
  for (int round = 0; round < 300; ++round) {
    const auto members = static_cast<std::uint32_t>(1 + random.below(400));
    const outcome_builder before = some_account(random, members + 10, 50, random.below(2) == 0);
    if (before.empty()) continue;
    const bytes on_wire = encoded(before);
    if (is_dense(on_wire)) continue;
    outcome_builder after;
    REQUIRE(decoded(after, on_wire, ranges_of(before)));
    after.normalise();
    check_same(before, after, on_wire.size() < 2000);
  }
}

TEST_CASE("an account is read beside what is there already", "[account]") {
  outcome_builder mine;
  mine.add({0, 1}, member_state::merged);
  const std::uint16_t lost = mine.add_cause({phase::delivery, error(errc::connection_lost, "cut"), 0});
  mine.add({5, 7}, member_state::unknown, lost);
  outcome_builder theirs;
  const std::uint16_t dead = theirs.add_cause({phase::execute, error(errc::io_error, "disk"), 2});
  const std::uint16_t cut = theirs.add_cause({phase::delivery, error(errc::connection_lost, "cut"), 0});
  theirs.add({1, 2}, member_state::failed, dead);
  theirs.add({2, 5}, member_state::unknown, cut);
  REQUIRE(decoded(mine, encoded(theirs), {{1, 5}}));
  mine.normalise();
  REQUIRE(mine.runs().size() == 3);
  REQUIRE(mine.runs()[1].members == rank_range{1, 2});
  REQUIRE(mine.causes()[mine.runs()[1].cause_index].what == error(errc::io_error, "disk"));
  REQUIRE(mine.runs()[2].members == rank_range{2, 7});  // equal causes are one
  REQUIRE(mine.causes().size() == 3);
}

TEST_CASE("every truncation of an account is refused and adds nothing", "[account]") {
  random_generator random(11);
  for (int round = 0; round < 20; ++round) {
    const outcome_builder before = some_account(random, 60, 20, true);
    const bytes whole = encoded(before);
    for (std::size_t size = 0; size < whole.size(); ++size) {
      outcome_builder after;
      REQUIRE_FALSE(decoded(after, bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)),
                            ranges_of(before)));
      REQUIRE(after.empty());
    }
    bytes longer = whole;
    longer.push_back(std::byte{0});
    outcome_builder after;
    REQUIRE_FALSE(decoded(after, longer, ranges_of(before)));
  }
}

TEST_CASE("a mutated outcome_builder is refused or still speaks of exactly its members", "[account]") {
  random_generator random(13);
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 12; ++round) {
    outcome_builder before = some_account(random, round % 3 == 0 ? 2500 : 40, 20, false);
    if (round % 3 == 0) {  // dense
      before.clear();
      const std::uint16_t why = before.add_cause({phase::execute, error(errc::busy, "no"), 3});
      for (std::uint32_t i = 0; i < 2500; ++i) {
        before.add({i, i + 1}, i % 2 == 0 ? member_state::merged : member_state::failed,
                   i % 2 == 0 ? std::uint16_t{0} : why);
      }
    }
    before.normalise();
    const bytes whole = encoded(before);
    REQUIRE(is_dense(whole) == (round % 3 == 0));
    const auto subtree = ranges_of(before);
    const std::size_t step = test::slow_build && round % 3 == 0 ? 7 : 1;
    for (std::size_t at = 0; at < std::min<std::size_t>(whole.size(), 300); at += step) {
      for (const unsigned flip : {1U, 2U, 4U, 8U, 16U, 32U, 64U, 128U, 255U}) {
        bytes changed = whole;
        changed[at] ^= static_cast<std::byte>(flip);
        outcome_builder after;
        if (decoded(after, changed, subtree)) {
          ++accepted;
          check_consistent(after, subtree);
        } else {
          ++refused;
          wire::reader in(changed);
          outcome_builder untouched;
          if (!untouched.decode(in, subtree)) REQUIRE(untouched.empty());
        }
      }
    }
  }
  REQUIRE(accepted > 100);
  REQUIRE(refused > 1000);
}

TEST_CASE("random bytes are no account", "[account]") {
  random_generator random(17);
  const std::vector<rank_range> subtree{{3, 9}};
  int accepted = 0;
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    // The numbers are small in every other round, so that some of them pass many checks, or all.
    const std::uint64_t values = round % 2 == 0 ? 256 : 7;
    bytes noise(random.below(60));
    for (std::byte& b : noise) b = static_cast<std::byte>(random.below(values));
    if (!noise.empty()) noise[0] = static_cast<std::byte>(random.below(3));
    outcome_builder after;
    wire::reader in(noise);
    if (const status s = after.decode(in, subtree)) {
      ++accepted;
      check_consistent(after, subtree);
    } else {
      ++refused;
      REQUIRE(s.error() == errc::malformed);
      REQUIRE(after.empty());
      REQUIRE(after.causes().size() == outcome_builder().causes().size());
    }
  }
  CHECK(accepted > 0);
  CHECK(refused > 19000);
}

TEST_CASE("an account of other members is refused", "[account]") {
  outcome_builder a;
  a.add({4, 8}, member_state::merged);
  const std::uint16_t why = a.add_cause({phase::execute, error(errc::busy), 4});
  a.add({10, 12}, member_state::failed, why);
  a.normalise();
  const bytes on_wire = encoded(a);
  const std::vector<std::vector<rank_range>> wrong{{},
                                                   {{4, 8}},
                                                   {{4, 12}},
                                                   {{4, 8}, {10, 13}},
                                                   {{4, 8}, {9, 12}},
                                                   {{3, 8}, {10, 12}},
                                                   {{5, 8}, {10, 12}},
                                                   {{4, 7}, {10, 12}},
                                                   {{10, 12}},
                                                   {{4, 8}, {10, 11}},
                                                   {{4, 8}, {10, 12}, {20, 21}}};
  for (const auto& subtree : wrong) {
    outcome_builder after;
    REQUIRE(decoded(after, on_wire, subtree).error() == errc::malformed);
    REQUIRE(after.empty());
  }
  outcome_builder after;
  REQUIRE(decoded(after, on_wire, {{4, 8}, {10, 12}}));
  outcome_builder pieces;
  REQUIRE(decoded(pieces, on_wire, {{4, 6}, {6, 8}, {10, 12}}));  // ranges that touch are one
}

TEST_CASE("states that alternate wildly travel densely", "[account]") {
  for (const std::uint32_t members : {3000U, 16384U}) {
    outcome_builder before;
    random_generator random(members);
    for (std::uint32_t i = 0; i < members; ++i) {
      if (i % 17 == 3) continue;  // a member of another subtree
      const auto state = static_cast<member_state>(random.below(5));
      const std::uint16_t why =
          state == member_state::merged ? std::uint16_t{0} : before.add_cause(some_cause(random, 30));
      before.add({i, i + 1}, state, why);
    }
    before.normalise();
    const bytes on_wire = encoded(before);
    REQUIRE(is_dense(on_wire));
    REQUIRE(on_wire.size() <= account_reserve_bytes);
    outcome_builder after;
    REQUIRE(decoded(after, on_wire, ranges_of(before)));
    after.normalise();
    std::vector<member_state> states_before(members), states_after(members);
    for (const auto& run : before.runs()) {
      for (std::uint32_t m = run.members.first; m != run.members.last; ++m) states_before[m] = run.state;
    }
    for (const auto& run : after.runs()) {
      for (std::uint32_t m = run.members.first; m != run.members.last; ++m) states_after[m] = run.state;
      if (run.state != member_state::merged) REQUIRE(after.causes()[run.cause_index] == before.causes()[1]);
    }
    REQUIRE(states_before == states_after);
    REQUIRE(ranges_of(before) == ranges_of(after));
  }
}

TEST_CASE("more causes than are kept are folded into one that says so", "[account]") {
  outcome_builder before;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::uint16_t why =
        before.add_cause({phase::execute, error(errc::io_error, "disk " + std::to_string(i)), i});
    REQUIRE(why <= outcome_builder::max_causes);
    before.add({i, i + 1}, member_state::failed, why);
  }
  before.normalise();
  REQUIRE(before.causes().size() == outcome_builder::max_causes + 1);
  REQUIRE(before.causes().back().what.text() == "one of several causes that are not listed apart");
  REQUIRE(before.runs().size() == outcome_builder::max_causes);
  const bytes on_wire = encoded(before);
  outcome_builder after;
  REQUIRE(decoded(after, on_wire, {{0, 200}}));
  after.normalise();
  check_same(before, after, true);
  // Two such accounts together still keep within the limit.
  outcome_builder both;
  both.add({200, 201}, member_state::merged);
  const std::uint16_t own = both.add_cause({phase::reply, error(errc::too_large, "mine"), 7});
  both.add({201, 202}, member_state::executed, own);
  REQUIRE(decoded(both, on_wire, {{0, 200}}));
  both.normalise();
  REQUIRE(both.causes().size() == outcome_builder::max_causes + 1);
  REQUIRE(encoded(both).size() <= account_reserve_bytes);
}

TEST_CASE("a cause that stands for others says what they have in common", "[account]") {
  constexpr phase steps[] = {phase::execute, phase::admission};
  constexpr errc codes[] = {errc::io_error, errc::busy};
  for (std::size_t i = 0; i < 4; ++i) {
    outcome_builder builder;
    const auto add = [&](phase where, errc code, std::uint32_t number) {
      builder.add_cause({where, error(code, std::to_string(number)), number});
    };
    for (std::uint32_t n = 0; n < 100; ++n) add(steps[0], codes[0], n);
    add(steps[i / 2], codes[i % 2], 100);
    add(steps[0], codes[0], 101);
    const cause& shared = builder.causes().back();
    REQUIRE(shared.where == (i / 2 == 0 ? phase::execute : phase::none));
    REQUIRE(shared.what.code() == (i % 2 == 0 ? errc::io_error : errc::incomplete));
  }
}

TEST_CASE("an account of more than fits is made coarser and says nothing wrong", "[account]") {
  constexpr std::uint32_t members = 100'000, alike = 40'000;
  outcome_builder before;
  random_generator random(5);
  const std::uint16_t why = before.add_cause({phase::execute, error(errc::io_error, "disk"), 3});
  std::vector<member_state> states(members, member_state::failed);
  for (std::uint32_t i = alike; i < members; ++i) states[i] = static_cast<member_state>(1 + random.below(4));
  for (std::uint32_t i = 0; i < members; ++i) before.add({i, i + 1}, states[i], why);
  before.normalise();
  REQUIRE_FALSE(before.fits());
  outcome_builder nobody;
  REQUIRE_FALSE(decoded(nobody, encoded(before), {{0, members}}));
  REQUIRE(nobody.empty());
  before.coarsen();
  REQUIRE(before.fits());
  outcome_builder after;
  REQUIRE(decoded(after, encoded(before), {{0, members}}));
  std::uint32_t told = 0, wrong = 0;
  for (const member_report& run : after.runs()) {
    for (std::uint32_t m = run.members.first; m != run.members.last; ++m) {
      told += run.state != member_state::unknown;
      wrong += run.state != states[m] && run.state != member_state::unknown;
    }
  }
  REQUIRE(wrong == 0);
  REQUIRE(told >= alike);
}

TEST_CASE("texts are left out when there is no room for them", "[account]") {
  outcome_builder before;
  const std::string text(96, 't');
  for (std::uint32_t i = 0; i < 1200; ++i) {
    const std::uint16_t why =
        i % 2 == 0
            ? std::uint16_t{0}
            : before.add_cause(
                  {phase::execute, error(errc::io_error, text, static_cast<std::int32_t>(i % 100)), i % 50});
    before.add({i, i + 1}, i % 2 == 0 ? member_state::merged : member_state::failed, why);
  }
  before.normalise();
  const bytes on_wire = encoded(before);
  REQUIRE_FALSE(is_dense(on_wire));
  REQUIRE(on_wire.size() <= account_reserve_bytes);
  outcome_builder after;
  REQUIRE(decoded(after, on_wire, {{0, 1200}}));
  after.normalise();
  check_same(before, after, false);
  REQUIRE(after.causes()[1].what.text().empty());
}

TEST_CASE("a lost value leaves its members executed", "[account]") {
  outcome_builder a;
  a.add({0, 3}, member_state::merged);
  const std::size_t mark = a.runs().size();
  const std::uint16_t bad = a.add_cause({phase::execute, error(errc::busy), 1});
  a.add({3, 5}, member_state::merged);
  a.add({5, 6}, member_state::failed, bad);
  a.lose_merged(a.add_cause({phase::reply, error(errc::too_large), 0}), mark);
  a.normalise();
  REQUIRE(a.runs().size() == 3);
  REQUIRE(a.runs()[0].state == member_state::merged);
  REQUIRE(a.runs()[1].state == member_state::executed);
  REQUIRE(a.causes()[a.runs()[1].cause_index].what == errc::too_large);
  REQUIRE(a.runs()[2].state == member_state::failed);
}

TEST_CASE("an outcome answers for every rank", "[outcome]") {
  const cause lost{phase::delivery, error(errc::connection_lost, "cut"), 1};
  const cause full{phase::reply, error(errc::too_large, "70000 bytes"), 4};
  const outcome o(10,
                  {{{0, 3}, member_state::merged, 0},
                   {{3, 5}, member_state::executed, 2},
                   {{5, 6}, member_state::merged, 0},
                   {{6, 8}, member_state::unknown, 1},
                   {{8, 9}, member_state::not_reached, 1},
                   {{9, 10}, member_state::failed, 2}},
                  {cause{}, lost, full});
  REQUIRE_FALSE(o.clean());
  REQUIRE(to_string(o.merged()) == "0-2, 5");
  REQUIRE(to_string(o.executed()) == "0-5");
  REQUIRE(to_string(o.unknown()) == "6-7");
  REQUIRE(to_string(o.not_reached()) == "8");
  REQUIRE(to_string(o.failed()) == "9");
  REQUIRE(o.count(member_state::merged) == 4);
  REQUIRE(o.why(7) == lost);
  REQUIRE(o.why(3) == full);
  REQUIRE(o.why(0) == cause{});
  REQUIRE(o.state(4) == member_state::executed);
  REQUIRE(o.executed().contains(4));
  REQUIRE_FALSE(o.executed().contains(6));
  REQUIRE(
      describe(o) ==
      "4 of 10 executed and merged; executed: rank 3 rank 4 (reply: too_large: 70000 bytes, says rank 4); "
      "unknown: rank 6 rank 7 (delivery: connection_lost: cut, says rank 1); not reached: rank 8 (delivery: "
      "connection_lost: cut, says rank 1); failed: rank 9 (reply: too_large: 70000 bytes, says rank 4)");

  const outcome clean(10);
  REQUIRE(clean.clean());
  REQUIRE(to_string(clean.merged()) == "0-9");
  REQUIRE(clean.executed() == clean.merged());
  REQUIRE(clean.unknown().empty());
  REQUIRE(to_string(clean.unknown()) == "none");
  REQUIRE(clean.state(9) == member_state::merged);
  REQUIRE(describe(clean) == "10 of 10 executed and merged");
}

namespace {

status decoded_part(outcome_builder& into, const bytes& from, std::vector<rank_range>& unsettled) {
  wire::reader in(from);
  return into.decode_part(in, unsettled);
}

}  // namespace

TEST_CASE("parts of an account settle members one after the other until none is left", "[account]") {
  random_generator random(31);
  for (int round = 0; round < 300; ++round) {
    const outcome_builder all =
        some_account(random, static_cast<std::uint32_t>(1 + random.below(200)), 40, random.below(2) == 0);
    if (all.empty()) continue;
    std::vector<rank_range> unsettled = ranges_of(all);
    outcome_builder gathered;
    std::vector<member_report> rest(all.runs().begin(), all.runs().end());
    while (!rest.empty()) {
      outcome_builder part;
      std::vector<member_report> later;
      for (const member_report& run : rest) {
        if (random.chance(1, 2) && !(part.empty() && &run == &rest.back())) {
          later.push_back(run);
          continue;
        }
        const bool merged = run.state == member_state::merged;
        part.add(run.members, run.state,
                 merged ? std::uint16_t{0} : part.add_cause(all.causes()[run.cause_index]));
      }
      part.normalise();
      const bytes sent = encoded(part);
      REQUIRE(decoded_part(gathered, sent, unsettled));
      const std::vector<rank_range> before = unsettled;
      const std::size_t runs = gathered.runs().size();
      REQUIRE(decoded_part(gathered, sent, unsettled).error() == errc::malformed);  // settled already
      REQUIRE(unsettled == before);
      REQUIRE(gathered.runs().size() == runs);
      rest = std::move(later);
    }
    REQUIRE(unsettled.empty());
    gathered.normalise();
    check_same(all, gathered, false);
  }
}

TEST_CASE("a part speaks of unsettled members only, of one at least, and to its end", "[account]") {
  const auto settles = [](std::initializer_list<rank_range> members, std::vector<rank_range> unsettled) {
    outcome_builder part, into;
    for (const rank_range& r : members) part.add(r, member_state::merged);
    const std::vector<rank_range> before = unsettled;
    const status s = decoded_part(into, encoded(part), unsettled);
    if (!s) REQUIRE((unsettled == before && into.empty()));
    return s.has_value() ? std::optional(unsettled) : std::nullopt;
  };
  using ranges = std::vector<rank_range>;
  CHECK(settles({{3, 5}}, {{3, 5}}) == ranges{});
  CHECK(settles({{3, 4}}, {{3, 5}}) == ranges{{4, 5}});
  CHECK(settles({{4, 5}}, {{3, 5}}) == ranges{{3, 4}});
  CHECK(settles({{4, 5}}, {{3, 7}}) == ranges{{3, 4}, {5, 7}});
  CHECK(settles({{1, 2}, {8, 9}}, {{1, 3}, {5, 6}, {7, 9}}) == ranges{{2, 3}, {5, 6}, {7, 8}});
  CHECK(settles({{1, 2}, {2, 3}}, {{0, 9}}) == ranges{{0, 1}, {3, 9}});
  CHECK_FALSE(settles({}, {{3, 5}}));
  CHECK_FALSE(settles({{2, 4}}, {{3, 5}}));
  CHECK_FALSE(settles({{4, 6}}, {{3, 5}}));
  CHECK_FALSE(settles({{2, 3}}, {{3, 5}}));
  CHECK_FALSE(settles({{5, 6}}, {{3, 5}}));
  CHECK_FALSE(settles({{3, 8}}, {{3, 5}, {6, 8}}));
  CHECK_FALSE(settles({{3, 4}, {9, 10}}, {{3, 5}}));
  CHECK_FALSE(settles({{0, 1}}, {}));
  outcome_builder part, into;
  part.add({3, 4}, member_state::merged);
  bytes longer = encoded(part);
  longer.push_back(std::byte{0});
  std::vector<rank_range> unsettled{{3, 5}};
  CHECK_FALSE(decoded_part(into, longer, unsettled));
  CHECK(unsettled == ranges{{3, 5}});
}

TEST_CASE("losses move into an account of their own, as many as fit, and merged members stay", "[account]") {
  constexpr std::size_t room = 4096;
  random_generator random(37);
  for (int round = 0; round < 200; ++round) {
    outcome_builder from = some_account(random, static_cast<std::uint32_t>(1 + random.below(600)), 40, true);
    const outcome_builder all = from;
    const std::size_t mark = random.below(all.runs().size() + 1);
    std::size_t before_mark = 0, moved = 0;
    outcome_builder gathered;
    while (true) {
      outcome_builder losses;
      const std::size_t runs = from.runs().size();
      const std::size_t before = from.move_losses(losses, room, mark - before_mark);
      if (losses.empty()) break;
      before_mark += before;
      const bytes sent = encoded(losses);
      REQUIRE(sent.size() <= room);
      REQUIRE(std::ranges::none_of(losses.runs(),
                                   [](const member_report& r) { return r.state == member_state::merged; }));
      REQUIRE(from.runs().size() < runs);
      gathered.add_all(losses);
      moved += runs - from.runs().size();
    }
    REQUIRE(std::ranges::all_of(from.runs(),
                                [](const member_report& r) { return r.state == member_state::merged; }));
    REQUIRE(moved + from.runs().size() == all.runs().size());
    const auto kept_before = static_cast<std::size_t>(
        std::count_if(all.runs().begin(), all.runs().begin() + static_cast<std::ptrdiff_t>(mark),
                      [](const member_report& r) { return r.state == member_state::merged; }));
    REQUIRE(mark - before_mark == kept_before);
    gathered.add_all(from);
    gathered.normalise();
    outcome_builder whole = all;
    whole.normalise();
    check_same(whole, gathered, false);
  }
}
