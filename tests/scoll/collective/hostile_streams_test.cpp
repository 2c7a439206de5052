#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "infiltrated.hpp"
#include "pages.hpp"
#include "pieces.hpp"
#include "scoll/collective/item_run.hpp"
#include "scoll/collective/outcome_builder.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;
using detail::collective_reply_head;
using detail::item_run;
using detail::outcome_builder;

// Streams from a member that says whatever a test chooses.
namespace {

/// A part with items; each run is appended by `run`.
piece part_with_items() {
  piece p;
  p.head.flags = collective_reply_head::parts_follow | collective_reply_head::items;
  return p;
}

/// Appends pages `first` to `first + count - 1` of a member.
piece& run(piece& p, std::uint32_t member, std::uint64_t first, std::uint32_t count, bool last = false) {
  bytes head(detail::most_run_head_bytes);
  wire::writer out(head);
  detail::put_run_head(out, {member, first, count, last, {}});
  p.payload.insert(p.payload.end(), out.written().begin(), out.written().end());
  for (std::uint32_t i = 0; i < count; ++i) {
    const page next{static_cast<std::uint32_t>(first) + i, "x"};
    bytes item(4 + wire::encoded_size(next));
    wire::detail::store_little(item.data(), static_cast<std::uint32_t>(item.size() - 4));
    REQUIRE(wire::encode_to(std::span(item).subspan(4), next));
    p.payload.insert(p.payload.end(), item.begin(), item.end());
  }
  ++p.head.values;
  return p;
}
piece items(std::uint32_t member, std::uint64_t first, std::uint32_t count, bool last = false) {
  piece p = part_with_items();
  return run(p, member, first, count, last);
}

piece last_part(std::initializer_list<member_report> runs) {
  return piece_of(0, account_of(runs));
}

/// Node 0 gathers from a chain of 6 through node 1, an outsider, which holds the request and speaks for members
/// 1 to 5. Node 0 has no items.
struct gather_of_six {
  virtual_cluster c{6};
  pages service;
  group<pages> g;
  std::optional<outsider> x;
  std::optional<reading> r;

  explicit gather_of_six(std::uint32_t own = 0) {
    c.serve(service);
    g = c.make_group<pages>(0, chain{});
    c.stop(1).ignore();
    c.ex.run_for(1ms);
    x.emplace(c, 2, 1, 2);
    service.log->items[0] = own;
    r.emplace(c, g, pages::request{}, bcast_options{.deadline = 2s});
    REQUIRE(c.until([&] { return x->holds_one(); }));
  }
  void send(const piece& p) { x->send_part(p.head, p.payload); }
  void answer(const piece& p) { x->answer_one(p.head, p.payload); }
  void pass() { c.pass(1ms); }
  std::size_t came(std::uint32_t rank) const {
    const auto found = r->got().find(rank);
    return found == r->got().end() ? 0 : found->second.size();
  }
};

void check(const outcome& o, std::uint32_t rank, member_state state, errc code) {
  INFO("rank " << rank << ": " << describe(o));
  CHECK(to_string(o.state(rank)) == to_string(state));
  CHECK(to_string(o.why(rank).what.code()) == to_string(code));
}

}  // namespace

TEST_CASE("a gather allows each child four parts at first", "[streams][hostile]") {
  gather_of_six s;
  CHECK(s.x->last_head().flags == detail::collective_head::streams);
  CHECK(s.x->parts_left() == 4);
  s.r->halt();
  s.pass();
  for (std::uint32_t i = 0; i < 4; ++i) s.send(items(1 + i, 0, 2));
  s.pass();
  CHECK(s.x->parts_left() <= 1);  // one that the reader had begun to take
  s.r->go_on();
  s.pass();
  CHECK(s.x->parts_left() == 4);
  s.answer(last_part({{{1, 6}, member_state::failed, 1}}));
  s.r->land();
  CHECK(s.r->count() == 8);
  check(s.r->account(), 3, member_state::failed, errc::io_error);
}

TEST_CASE("members are merged when their last item comes, whatever their ancestors say later",
          "[streams][hostile]") {
  gather_of_six s;
  piece both = items(1, 0, 2);
  run(both, 4, 0, 3, true);
  run(both, 1, 2, 1);
  s.send(both);
  s.send(items(5, 0, 0, true));
  s.pass();
  SECTION("the answer settles the rest") {
    s.send(items(1, 3, 1, true));
    s.send(items(2, 0, 1, true));
    s.answer(last_part({{{3, 4}, member_state::failed, 1}}));
    s.r->land();
    for (const std::uint32_t rank : {0U, 1U, 2U, 4U, 5U})
      check(s.r->account(), rank, member_state::merged, errc::ok);
    check(s.r->account(), 3, member_state::failed, errc::io_error);
    CHECK(s.r->how().error() == errc::incomplete);
    CHECK(s.came(1) == 4);
    CHECK(s.came(4) == 3);
  }
  SECTION("an empty answer, where all are at their end") {
    piece rest = items(1, 3, 0, true);
    run(rest, 2, 0, 0, true);
    run(rest, 3, 0, 0, true);
    s.send(rest);
    s.answer(last_part({}));
    s.r->land();
    CHECK(s.r->how());
    CHECK(s.r->account().clean());
  }
  SECTION("it is gone") {
    s.c.kill(1);
    s.r->land();
    for (const std::uint32_t rank : {4U, 5U}) check(s.r->account(), rank, member_state::merged, errc::ok);
    for (const std::uint32_t rank : {1U, 2U, 3U})
      CHECK(to_string(s.r->account().state(rank)) == to_string(member_state::unknown));
    s.c.revive(1);
  }
  SECTION("it says that it has refused the request") {
    s.x->refuse_one({errc::busy, "no place"});
    s.r->land();
    for (const std::uint32_t rank : {4U, 5U}) check(s.r->account(), rank, member_state::merged, errc::ok);
    for (const std::uint32_t rank : {1U, 2U, 3U})
      check(s.r->account(), rank, member_state::unknown, errc::busy);
  }
  SECTION("it says that members are merged whose last item has not come") {
    piece claims = last_part({{{1, 4}, member_state::merged, 0}});
    SECTION("with an account") {
      s.answer(claims);
    }
    SECTION("and is clean") {
      claims.payload.clear();
      claims.head.account_bytes = 0;
      claims.head.flags = collective_reply_head::clean;
      s.answer(claims);
    }
    s.r->land();
    for (const std::uint32_t rank : {4U, 5U}) check(s.r->account(), rank, member_state::merged, errc::ok);
    for (const std::uint32_t rank : {1U, 2U, 3U})
      check(s.r->account(), rank, member_state::executed, errc::malformed);
  }
}

TEST_CASE("a wrong part of a stream costs the members that are not at their end, and nothing else",
          "[streams][hostile]") {
  struct bad {
    const char* what;
    piece part;
  };
  piece truncated = items(1, 2, 1);
  truncated.payload.pop_back();
  piece left_over = items(1, 2, 1);
  left_over.payload.push_back(std::byte{0});
  piece fewer_runs = items(1, 2, 1);
  run(fewer_runs, 2, 0, 1);
  --fewer_runs.head.values;
  piece more_runs = items(1, 2, 1);
  ++more_runs.head.values;
  piece no_runs = part_with_items();
  no_runs.payload.push_back(std::byte{0});
  piece account = items(1, 2, 1);
  account.head.account_bytes = 2;
  piece clean = items(1, 2, 1);
  clean.head.flags |= collective_reply_head::clean;
  piece no_items = last_part({{{1, 2}, member_state::failed, 1}});
  no_items.head.flags = collective_reply_head::parts_follow;
  piece twice = items(1, 2, 1, true);
  run(twice, 1, 3, 1);
  piece again = items(2, 0, 1);
  run(again, 2, 0, 1);
  piece endless = items(1, 2, 1);
  endless.payload[2] = std::byte{0x7e};  // the number of items
  const std::vector<bad> all{
      {"items of the root", items(0, 0, 1)},
      {"items of a member beyond the group", items(6, 0, 1)},
      {"items that were to come later", items(1, 3, 1)},
      {"items that have come", items(1, 1, 2)},
      {"items of a member at its end", items(4, 3, 1)},
      {"the end of a member at its end", items(4, 3, 0, true)},
      {"items behind the end, in one part", twice},
      {"an item twice, in one part", again},
      {"a run of nothing", items(1, 2, 0)},
      {"an item that is cut", truncated},
      {"bytes behind the last run", left_over},
      {"more runs than the head says", fewer_runs},
      {"fewer runs than the head says", more_runs},
      {"no run", no_runs},
      {"more items than bytes", endless},
      {"an account in front of the items", account},
      {"the flag of a clean answer", clean},
      {"a part with an account instead of items", no_items},
  };
  for (const bad& b : all) {
    INFO(b.what);
    gather_of_six s;
    piece good = items(1, 0, 2);
    run(good, 4, 0, 3, true);
    s.send(good);
    s.pass();
    s.send(b.part);
    s.pass();
    REQUIRE(s.x->cancels().size() == 1);
    CHECK_FALSE(s.x->cancels()[0].answer_awaited);
    CHECK(s.x->cancels()[0].why == errc::malformed);
    s.r->land();
    for (const std::uint32_t rank : {0U, 4U}) check(s.r->account(), rank, member_state::merged, errc::ok);
    for (const std::uint32_t rank : {1U, 2U, 3U, 5U})
      check(s.r->account(), rank, member_state::unknown, errc::malformed);
    CHECK(s.came(1) == 2);
    CHECK(s.came(2) == 0);
    CHECK(s.came(4) == 3);
    REQUIRE(s.c.quiet());
  }
}

TEST_CASE("an answer behind a stream that is wrong costs the members that are not at their end",
          "[streams][hostile]") {
  piece value = last_part({{{1, 6}, member_state::failed, 1}});
  value.head.values = 1;
  value.payload.insert(value.payload.end(), 8, std::byte{0});
  piece says_items = last_part({{{1, 6}, member_state::failed, 1}});
  says_items.head.flags = collective_reply_head::items;
  for (const piece& answer : {value, says_items, last_part({{{1, 3}, member_state::failed, 1}}),
                              last_part({{{0, 6}, member_state::failed, 1}})}) {
    gather_of_six s;
    s.send(items(5, 0, 1));
    s.answer(answer);
    s.r->land();
    for (std::uint32_t rank = 1; rank < 6; ++rank)
      check(s.r->account(), rank, member_state::unknown, errc::malformed);
    REQUIRE(s.c.quiet());
  }
}

TEST_CASE("a child that sends beyond its window is cut off", "[streams][hostile]") {
  gather_of_six s;
  s.r->halt();
  const std::size_t reserved = s.c.engine(0).memory_for_parts().used();
  CHECK(reserved == 6 * transport::max_payload_bytes);  // four of the child, two of the root's own
  for (std::uint32_t i = 0; i < 1'000; ++i) s.send(items(2, i, 1));
  s.pass();
  REQUIRE_FALSE(s.x->cancels().empty());
  CHECK(s.x->cancels().front().why == errc::malformed);
  s.r->land();
  CHECK(s.came(2) <= 5);
  for (std::uint32_t rank = 1; rank < 6; ++rank)
    check(s.r->account(), rank, member_state::unknown, errc::malformed);
  REQUIRE(s.c.quiet());
}

TEST_CASE("an item that does not decode costs its member", "[streams][hostile]") {
  gather_of_six s;
  piece p = items(1, 0, 1);
  bytes head(detail::most_run_head_bytes);
  wire::writer out(head);
  detail::put_run_head(out, {2, 0, 1, true, {}});
  p.payload.insert(p.payload.end(), out.written().begin(), out.written().end());
  p.payload.insert(p.payload.end(), {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}});
  ++p.head.values;
  run(p, 3, 0, 2, true);
  s.send(p);
  s.answer(last_part({{{1, 2}, member_state::failed, 1}, {{4, 6}, member_state::failed, 1}}));
  s.r->land();
  check(s.r->account(), 2, member_state::executed, errc::malformed);
  check(s.r->account(), 3, member_state::merged, errc::ok);
  CHECK(s.came(3) == 2);
}

TEST_CASE("only a broadcast that streams takes items", "[streams][hostile]") {
  infiltrated f(4, chain{}, 1);
  f.service.log->usual = 500ms;
  flight<probe> asking(f.c, f.g, {}, {.on_failure = fail_fast});
  REQUIRE(f.c.until([&] { return f.x->holds_one(); }));
  const piece p = items(1, 0, 1);
  f.x->send_part(p.head, p.payload);
  auto& r = asking.land();
  check(r.outcome(), 2, member_state::unknown, errc::malformed);
}

TEST_CASE("parts of random bytes never break a gather", "[streams][hostile]") {
  random_generator random(31);
  for (int round = 0; round < 80; ++round) {
    gather_of_six s(static_cast<std::uint32_t>(random.below(3)));
    std::map<std::uint32_t, std::uint64_t> next;
    for (int i = 0; i < 12 && s.x->holds_one(); ++i) {
      const auto member = static_cast<std::uint32_t>(1 + random.below(5));
      piece p = items(member, next[member], static_cast<std::uint32_t>(1 + random.below(3)));
      next[member] += 3;
      if (random.chance(1, 3)) {
        const std::size_t at = random.below(p.payload.size());
        p.payload[at] = static_cast<std::byte>(random.below(random.below(2) == 0 ? 256 : 5));
      }
      if (random.chance(1, 6)) p.payload.resize(1 + random.below(p.payload.size()));
      if (random.chance(1, 8)) p.head.values = static_cast<std::uint16_t>(random.below(4));
      s.send(p);
      s.pass();
    }
    if (s.x->holds_one()) s.answer(last_part({}));
    s.r->land();
    CHECK(s.r->account().members() == 6);
    CHECK(s.c.engine(0).operations() == 0);
    for (const auto& [rank, got] : s.r->got()) CHECK(rank < 6);
  }
}
