#include <chrono>
#include <optional>
#include <string>

#include "infiltrated.hpp"
#include "pieces.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/outcome_builder.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;
using detail::collective_reply_head;
using detail::outcome_builder;

// Answers in parts, from a member that says whatever a test chooses.
namespace {

piece part(std::initializer_list<member_report> runs, std::uint64_t total = 0, std::uint32_t members = 0) {
  return piece_of(collective_reply_head::parts_follow, account_of(runs), total, members);
}
piece last(std::initializer_list<member_report> runs, std::uint64_t total = 0, std::uint32_t members = 0) {
  return piece_of(0, account_of(runs), total, members);
}
piece clean_last(std::uint64_t total, std::uint32_t members) {
  piece p = piece_of(collective_reply_head::clean, {}, total, members);
  p.payload.erase(p.payload.begin(), p.payload.begin() + static_cast<std::ptrdiff_t>(p.head.account_bytes));
  p.head.account_bytes = 0;
  return p;
}

/// Node 0 asks a chain of 6 through node 1, an outsider, which holds the request and speaks for members 1 to 5.
/// The `execute` of node 0 takes half a second.
struct chain_of_six {
  infiltrated f{6, chain{}, 1};
  std::optional<flight<probe>> asking;

  explicit chain_of_six(failure_policy policy = fail_fast) {
    f.service.log->usual = 500ms;
    asking.emplace(f.c, f.g, probe::request{}, bcast_options{.on_failure = policy});
    REQUIRE(f.c.until([&] { return f.x->holds_one(); }));
  }
  void send(const piece& p) { f.x->send_part(p.head, p.payload); }
  void answer(const piece& p) { f.x->answer_one(p.head, p.payload); }
  bcast_result<probe::reply>& end() { return asking->land(); }
  void pass() { f.c.pass(1ms); }
};

void check(const outcome& o, std::uint32_t rank, member_state state, errc code) {
  INFO(describe(o));
  CHECK(to_string(o.state(rank)) == to_string(state));
  CHECK(to_string(o.why(rank).what.code()) == to_string(code));
}

}  // namespace

TEST_CASE("only a broadcast that asks for it allows parts, and none to leaves", "[parts]") {
  {
    chain_of_six plain(degrade);
    CHECK(plain.f.x->last_head().flags == 0);
    CHECK(plain.f.x->parts_left() == 0);
    plain.answer(clean_last(20, 5));
    CHECK(plain.end().ok());
  }
  {
    chain_of_six c;
    CHECK(c.f.x->last_head().flags == detail::collective_head::tell_losses);
    CHECK(c.f.x->parts_left() == 1);
    c.answer(clean_last(20, 5));
    CHECK(c.end().ok());
    CHECK(c.end()->members.value == 6);
  }
  infiltrated leaf(4, flat{}, 1);
  flight<probe> asking(leaf.c, leaf.g, {}, {.on_failure = fail_fast});
  REQUIRE(leaf.c.until([&] { return leaf.x->holds_one(); }));
  CHECK(leaf.x->last_head().flags == detail::collective_head::tell_losses);
  CHECK(leaf.x->parts_left() == 0);
  const piece good = clean_last(2, 1);
  leaf.x->answer_one(good.head, good.payload);
  CHECK(asking.land().ok());
}

TEST_CASE("parts settle members one after the other, and the last one the rest", "[parts]") {
  chain_of_six c;
  SECTION("merged ones, with their values") {
    c.send(part({merged(2, 3)}, 3, 1));
    c.pass();
    CHECK(c.f.x->parts_left() == 1);  // allowed once the first was merged
    c.send(part({merged(5, 6), merged(1, 2)}, 8, 2));
    c.pass();
    CHECK_FALSE(c.asking->done());
    SECTION("with a clean end") {
      c.answer(clean_last(9, 2));
    }
    SECTION("with an account") {
      c.answer(last({merged(3, 5)}, 9, 2));
    }
    auto& r = c.end();
    INFO(describe(r.outcome()));
    CHECK(r.ok());
    CHECK(r->members.value == 6);
    CHECK(r->total.value == triangle(6));
  }
  SECTION("all of them, and a last one that settles nobody") {
    c.send(part({merged(1, 6)}, 20, 5));
    c.pass();
    c.answer(last({}));
    CHECK(c.end().ok());
    CHECK(c.end()->total.value == triangle(6));
  }
  SECTION("and a failure ends the broadcast with its cause") {
    c.send(part({merged(2, 3), failed(4, 5)}, 3, 1));
    c.pass();
    REQUIRE(c.f.x->cancels().size() == 1);
    CHECK(c.f.x->cancels()[0].answer_awaited);
    CHECK(c.f.x->cancels()[0].why == errc::cancelled);
    auto& r = c.end();
    CHECK(c.asking->took() < 200ms);
    CHECK(r.status().error() == error(errc::io_error, "broken"));
    check(r.outcome(), 2, member_state::merged, errc::ok);
    check(r.outcome(), 4, member_state::failed, errc::io_error);
    for (const std::uint32_t rank : {1U, 3U, 5U})
      check(r.outcome(), rank, member_state::unknown, errc::deadline_exceeded);
    CHECK(r->total.value == 3);
  }
  REQUIRE(c.f.c.quiet());
}

TEST_CASE("a part that is wrong costs the members that no part has settled, and nothing else", "[parts]") {
  struct bad {
    const char* what;
    piece first, second;
    phase where = phase::reply;
  };
  piece no_account = part({});
  no_account.head.account_bytes = 0;
  piece beyond = part({merged(1, 2)}, 2, 1);
  beyond.head.account_bytes = 1000;
  piece both = part({merged(1, 2)}, 2, 1);
  both.head.flags |= collective_reply_head::clean;
  piece noise = part({merged(1, 2)}, 2, 1);
  std::fill_n(noise.payload.begin(), noise.head.account_bytes, std::byte{77});
  piece left_over = part({merged(1, 2)});
  left_over.payload.push_back(std::byte{0});
  ++left_over.head.account_bytes;
  piece large = part({merged(1, 2)}, 2, 1);
  large.payload.resize(detail::max_part_bytes + 1);
  piece last_in_part = last({merged(1, 6)}, 20, 5);
  last_in_part.head.flags |= collective_reply_head::parts_follow;
  const piece good = part({merged(2, 3)}, 3, 1);
  const std::vector<bad> all{
      {"a member twice in one part", part({merged(1, 2), merged(1, 2)}, 4, 2), {}},
      {"a member that was settled", good, part({merged(2, 4)}, 7, 2)},
      {"members that touch one that was settled", good, part({merged(1, 3)}, 5, 2)},
      {"a foreign member", part({merged(0, 1)}, 1, 1), {}},
      {"a member beyond the group", good, part({merged(5, 7)}, 13, 2)},
      {"nobody", good, part({})},
      {"no account", good, no_account},
      {"an account beyond its end", good, beyond},
      {"an account, and the flag for none", good, both},
      {"noise", good, noise},
      {"bytes behind the account", good, left_over},
      {"too many bytes", good, large, phase::delivery},
  };
  for (const bad& b : all) {
    INFO(b.what);
    chain_of_six c;
    const bool two = !b.second.payload.empty() || b.second.head.flags != 0;
    c.send(b.first);
    c.pass();
    if (two) c.send(b.second);
    c.pass();
    REQUIRE(c.f.x->cancels().size() == 1);
    CHECK_FALSE(c.f.x->cancels()[0].answer_awaited);
    CHECK(c.f.x->cancels()[0].why == errc::malformed);
    auto& r = c.end();
    INFO(describe(r.outcome()));
    CHECK(r.status().error() == errc::malformed);
    for (std::uint32_t rank = 1; rank < 6; ++rank) {
      const bool settled = two && rank == 2;
      check(r.outcome(), rank, settled ? member_state::merged : member_state::unknown,
            settled ? errc::ok : errc::malformed);
      if (!settled) CHECK(r.outcome().why(rank).where == b.where);
    }
    CHECK(r.has_value() == two);
    if (two) CHECK(r->total.value == 3);
    REQUIRE(c.f.c.quiet());
  }
}

TEST_CASE("a last part that is wrong costs the members that no part has settled", "[parts]") {
  struct bad {
    const char* what;
    piece answer;
    member_state rest = member_state::unknown;
  };
  piece says_more = clean_last(17, 4);
  says_more.head.flags |= collective_reply_head::parts_follow;
  const std::vector<bad> all{
      {"one that leaves a member out", last({merged(1, 2), merged(3, 5)}, 11, 3)},
      {"one that settles a member again", last({merged(1, 6)}, 20, 5)},
      {"one that settles nobody", last({})},
      {"one that says that more follow", says_more},
      {"one without the value of its members", last({merged(1, 2), merged(3, 6)}), member_state::executed},
  };
  for (const bad& b : all) {
    INFO(b.what);
    chain_of_six c;
    c.send(part({merged(2, 3)}, 3, 1));
    c.pass();
    c.answer(b.answer);
    auto& r = c.end();
    INFO(describe(r.outcome()));
    check(r.outcome(), 2, member_state::merged, errc::ok);
    for (const std::uint32_t rank : {1U, 3U, 4U, 5U}) check(r.outcome(), rank, b.rest, errc::malformed);
    CHECK(r->total.value == 3);
    REQUIRE(c.f.c.quiet());
  }
  chain_of_six c;
  INFO("a clean one after parts that have settled all");
  c.send(part({merged(1, 6)}, 20, 5));
  c.pass();
  c.answer(clean_last(99, 1));
  auto& r = c.end();
  CHECK(r->total.value == triangle(6));
  CHECK(r.outcome().merged().size() == 6);
}

TEST_CASE("the value of a part that does not decode is lost, and its members have executed", "[parts]") {
  chain_of_six c;
  piece spoilt = part({merged(2, 4)}, 7, 2);
  spoilt.payload.pop_back();
  c.send(spoilt);
  c.pass();
  auto& r = c.end();  // they are not merged, so the broadcast fails
  INFO(describe(r.outcome()));
  CHECK(r.status().error() == errc::malformed);
  for (const std::uint32_t rank : {2U, 3U}) check(r.outcome(), rank, member_state::executed, errc::malformed);
  for (const std::uint32_t rank : {1U, 4U, 5U})
    check(r.outcome(), rank, member_state::unknown, errc::deadline_exceeded);
  REQUIRE(c.f.c.quiet());
}

TEST_CASE("a member that is lost after a part leaves what the part settled, whatever it says", "[parts]") {
  chain_of_six c;
  c.send(part({merged(2, 3)}, 3, 1));
  c.pass();
  SECTION("it is gone") {
    c.f.c.kill(1);
    auto& r = c.end();
    check(r.outcome(), 2, member_state::merged, errc::ok);
    for (const std::uint32_t rank : {1U, 3U, 4U, 5U})
      check(r.outcome(), rank, member_state::unknown, r.outcome().why(1).what.code());
    c.f.c.revive(1);
  }
  SECTION("it says that it has refused the request") {
    c.f.x->refuse_one({errc::busy, "no place"});
    auto& r = c.end();
    check(r.outcome(), 2, member_state::merged, errc::ok);
    for (const std::uint32_t rank : {1U, 3U, 4U, 5U})
      check(r.outcome(), rank, member_state::unknown, errc::busy);
  }
  const bool with_root = c.end().outcome().state(0) == member_state::merged;
  CHECK(c.end()->total.value == 3U + with_root);
}

TEST_CASE("a thousand parts of a hostile child cost one part's memory, and end its exchange", "[parts]") {
  infiltrated f(4, chain{}, 1);
  f.service.log->usual = 500ms;
  flight<probe> asking(f.c, f.g, {}, {.on_failure = fail_fast});
  REQUIRE(f.c.until([&] { return f.x->holds_one(); }));
  CHECK(f.c.engine(0).memory_for_parts().used() == detail::max_part_bytes);
  const piece good = part({merged(1, 2)}, 2, 1);
  for (int i = 0; i < 1000; ++i) f.x->send_part(good.head, good.payload);
  auto& r = asking.land();
  INFO(describe(r.outcome()));
  CHECK(r.status().error() == errc::malformed);
  CHECK(r->total.value == 2);  // the first was good
  CHECK(r.outcome().state(2) == member_state::unknown);
  f.c.pass(1ms);
  REQUIRE_FALSE(f.x->cancels().empty());
  CHECK(f.x->cancels().front().why == errc::malformed);
  REQUIRE(f.c.quiet());
}

TEST_CASE("parts of random bytes never break anything", "[parts]") {
  random_generator random(29);
  for (int round = 0; round < 60; ++round) {
    chain_of_six c;
    for (int i = 0; i < 10 && c.f.x->holds_one(); ++i) {
      piece p;
      p.head.flags = static_cast<std::uint8_t>(collective_reply_head::parts_follow +
                                               (random.chance(1, 8) ? collective_reply_head::clean : 0));
      p.head.values = static_cast<std::uint16_t>(random.below(3));
      p.payload.resize(1 + random.below(60));
      for (std::byte& b : p.payload) b = static_cast<std::byte>(random.below(random.below(2) == 0 ? 256 : 5));
      p.head.account_bytes = static_cast<std::uint32_t>(random.below(p.payload.size() + 2));
      if (random.chance(1, 3)) p = part({merged(2, 3)}, 3, 1);
      c.send(p);
      c.pass();
    }
    if (c.f.x->holds_one()) c.answer(last({}));
    auto& r = c.end();
    CHECK(r.outcome().members() == 6);
    CHECK(c.f.c.engine(0).operations() == 0);
  }
}
