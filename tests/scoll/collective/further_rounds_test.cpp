#include <chrono>
#include <vector>

#include "infiltrated.hpp"
#include "scoll/collective/life_tag.hpp"
#include "scoll/collective/operation/own_records.hpp"
#include "scoll/collective/outcome_builder.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;
using detail::collective_head;
using detail::collective_reply_head;

// Further rounds of a broadcast, from a root that says whatever a test chooses.
namespace {

constexpr std::uint16_t repairs = collective_head::retain | collective_head::tell_losses;

/// Rank 0, an outsider, asks rank 1 of three.
struct asking_root {
  infiltrated f{3, flat{}, 0};

  collective_head head(std::uint64_t counter, unsigned attempt, std::uint16_t flags = repairs) const {
    collective_head h;
    h.tree_kind = f.g.tree().kind;
    h.service = static_cast<std::uint32_t>(probe::id);
    h.group = f.g.id();
    h.operation = {1, 2, counter, static_cast<std::uint16_t>(attempt)};
    h.rtt_us = h.margin_us = 1000;
    h.processing_ns = 3'000'000'000;
    h.flags = flags;
    return h;
  }
  outsider::answer ask(const collective_head& h) {
    std::vector<std::byte> request(64);
    const std::size_t size = wire::encode_to(request, probe::request{3}).value();
    return f.x->ask(2, h, std::span(request).first(size));
  }
  int executed() { return f.service.log->executed[1]; }
};

/// The same in a group out of band, where requests say which lives may execute.
struct asking_root_out_of_band : asking_root {
  asking_root_out_of_band() {
    group_options options;
    options.tree = flat{};
    adopted = f.c[1].adopt_group<probe>(7, membership::make(f.c.targets()).value(), options).value();
  }
  collective_head named(std::uint64_t counter, unsigned attempt) const {
    collective_head h = head(counter, attempt, repairs | collective_head::lives);
    h.group = adopted.id();
    return h;
  }
  /// Asks rank 1 with these tags, of which there should be three.
  outsider::answer ask(const collective_head& h, const std::vector<detail::life_tag>& tags) {
    const auto count = static_cast<std::uint32_t>(tags.size());
    std::vector<std::byte> payload(detail::life_tags::bytes_of(count) + 64);
    std::byte* const end =
        detail::life_tags::write(payload.data(), count, [&](std::uint32_t i) { return tags[i]; });
    const auto room = std::span(payload).subspan(static_cast<std::size_t>(end - payload.data()));
    payload.resize(payload.size() - room.size() + wire::encode_to(room, probe::request{3}).value());
    return f.x->ask(2, h, payload);
  }
  outsider::answer ask_life(const collective_head& h, detail::life_tag tag) {
    return ask(h, {detail::for_any_life, tag, detail::for_any_life});
  }

  group<probe> adopted;
  unsigned next = 5;  // a round that has not been yet
};

void gives_its_reply(const outsider::answer& a) {
  CHECK(a.came);
  CHECK_FALSE(a.refused);
  CHECK(a.head.flags == collective_reply_head::clean);
  CHECK(a.head.values == 1);
}

/// The member did nothing, and says why.
void does_nothing(const outsider::answer& a, member_state state, errc why) {
  REQUIRE(a.came);
  CHECK_FALSE(a.refused);
  CHECK(a.head.flags == 0);
  CHECK(a.head.values == 0);
  detail::outcome_builder account;
  const rank_range self[] = {{1, 2}};
  wire::reader in(std::span(a.payload).first(a.head.account_bytes));
  REQUIRE(account.decode(in, self));
  CHECK(account.runs().front().state == state);
  CHECK(account.causes()[1].what == why);
  CHECK(account.causes()[1].where == phase::admission);
}

}  // namespace

TEST_CASE("a round that its root asks itself goes over no tree, and its head keeps the group's") {
  asking_root root;
  collective_head h = root.head(1, 1, repairs | collective_head::direct);
  h.tree_kind = 99;
  CHECK_FALSE(root.ask(h).refused);
  CHECK(root.executed() == 1);
  h.operation.counter = 2;
  h.flags = repairs;
  CHECK(root.ask(h).refused == errc::unknown_tree);
  h = root.head(3, 0, repairs | collective_head::direct);
  CHECK(root.ask(h).refused == errc::malformed);
  CHECK(root.executed() == 1);
}

TEST_CASE("a member gives its reply to each further round, and executes once", "[repair]") {
  asking_root root;
  const auto first = root.ask(root.head(5, 0));
  gives_its_reply(first);
  for (const unsigned attempt : {1U, 2U, 7U}) {
    const auto again = root.ask(root.head(5, attempt));
    gives_its_reply(again);
    CHECK(again.payload == first.payload);
  }
  for (const unsigned attempt : {0U, 1U, 7U})
    CHECK(root.ask(root.head(5, attempt)).refused == errc::already_exists);
  CHECK(root.executed() == 1);
  SECTION("one that has not seen it executes in a further round") {
    gives_its_reply(root.ask(root.head(6, 4)));
    CHECK(root.executed() == 2);
    CHECK(root.ask(root.head(6, 0)).refused == errc::already_exists);
    CHECK(root.executed() == 2);
  }
  SECTION("what its root says to be over is refused") {
    collective_head later = root.head(9, 0, 0);
    later.watermark = 6;
    gives_its_reply(root.ask(later));
    CHECK(root.f.c.engine(1).records().size() == 0);
    CHECK(root.ask(root.head(5, 9)).refused == errc::stale);
  }
  SECTION("when the record is gone, its state is unknown") {
    root.f.c.pass(20s);
    CHECK(root.f.c.engine(1).records().size() == 0);
    does_nothing(root.ask(root.head(5, 9)), member_state::unknown, errc::record_gone);
  }
  CHECK(root.executed() <= 3);
}

TEST_CASE("a member that is still at work answers each round when it is done", "[repair]") {
  asking_root root;
  const bool fails = GENERATE(false, true);
  if (fails) root.f.service.log->failing = {{1, error(errc::io_error, "broken")}};
  root.f.service.log->usual = 2s;
  const auto early = root.ask(root.head(5, 0));  // it is cancelled after 1.5 s
  CHECK_FALSE(early.came);
  const auto late = root.ask(root.head(5, 1));
  REQUIRE(late.came);
  CHECK(root.executed() == 1);
  CHECK(root.f.service.log->stopped.empty());
  if (!fails) return gives_its_reply(late);
  detail::outcome_builder account;
  const rank_range self[] = {{1, 2}};
  wire::reader in(std::span(late.payload).first(late.head.account_bytes));
  REQUIRE(account.decode(in, self));
  CHECK(account.runs().front().state == member_state::failed);
  CHECK(account.causes()[1].what == error(errc::io_error, "broken"));
  CHECK(account.causes()[1].where == phase::execute);
}

TEST_CASE("rounds of what is not kept, and what cannot be kept, are malformed", "[repair]") {
  asking_root root;
  const auto is_malformed = [&](unsigned attempt, unsigned flags) {
    INFO(attempt << ", " << flags);
    CHECK(root.ask(root.head(5, attempt, static_cast<std::uint16_t>(flags))).refused == errc::malformed);
  };
  is_malformed(1, 0);
  is_malformed(1, collective_head::tell_losses);
  is_malformed(0, collective_head::retain);
  is_malformed(0, repairs | collective_head::tell_all);
  is_malformed(0, repairs | collective_head::last);
  is_malformed(0, repairs | collective_head::creation_rides);  // it does not ride
  is_malformed(0, collective_head::lives);
  is_malformed(0, repairs | collective_head::lives);  // no new life can enter the group
  CHECK(root.executed() == 0);
}

TEST_CASE("a request says which life of a member may execute it", "[repair]") {
  asking_root_out_of_band root;
  const detail::life_tag this_life = detail::tag_of_life(1), another = detail::tag_of_life(2);
  const unsigned round = GENERATE(0U, 3U);
  const auto not_reached = member_state::not_reached;
  SECTION("this one, or any") {
    gives_its_reply(root.ask_life(root.named(5, round), this_life));
    gives_its_reply(root.ask_life(root.named(6, round), detail::for_any_life));
    CHECK(root.executed() == 2);
  }
  SECTION("another one, or none, and a later request may name this one") {
    does_nothing(root.ask_life(root.named(5, round), another), not_reached, errc::peer_rebooted);
    does_nothing(root.ask_life(root.named(5, round + 1), detail::for_no_life), not_reached,
                 errc::peer_rebooted);
    CHECK(root.executed() == 0);
    gives_its_reply(root.ask_life(root.named(5, round + 2), this_life));
    CHECK(root.executed() == 1);
  }
  SECTION(
      "what this life has done is told whomever a further round names, and the first one comes too late") {
    gives_its_reply(root.ask_life(root.named(5, round), this_life));
    for (const detail::life_tag tag : {another, detail::for_no_life, detail::for_any_life, this_life})
      gives_its_reply(root.ask_life(root.named(5, root.next++), tag));
    for (const detail::life_tag tag : {another, this_life})
      CHECK(root.ask_life(root.named(5, 0), tag).refused == errc::already_exists);
    CHECK(root.executed() == 1);
  }
  SECTION("a member that may have forgotten executes only what no other request can make it execute") {
    root.f.c.engine(1).find_group(root.adopted.id())->window_gap = true;
    does_nothing(root.ask_life(root.named(5, round), this_life), not_reached, errc::record_gone);
    gives_its_reply(root.ask_life(root.named(5, round + 1), detail::for_any_life));
    CHECK(root.executed() == 1);
  }
}

TEST_CASE("a request whose tags are not those of its members is malformed", "[repair][hostile]") {
  asking_root_out_of_band root;
  const detail::life_tag any = detail::for_any_life;
  for (const unsigned round : {0U, 2U}) {
    CHECK(root.ask(root.named(5, round), {any, any}).refused == errc::malformed);
    CHECK(root.ask(root.named(5, round), {any, any, any, any}).refused == errc::malformed);
    CHECK(root.ask(root.named(5, round), {}).refused == errc::malformed);
    collective_head without = root.named(5, round);
    without.flags = repairs;
    CHECK(root.asking_root::ask(without).refused == errc::malformed);
    CHECK(root.asking_root::ask(root.named(5, round)).refused == errc::malformed);
  }
  collective_head huge = root.named(6, 0);
  std::vector<std::byte> payload(detail::life_tags::bytes_of(3) + max_request_bytes + 1);
  detail::life_tags::write(payload.data(), 3, [&](std::uint32_t) { return any; });
  CHECK(root.f.x->ask(2, huge, payload).refused == errc::too_large);
  CHECK(root.executed() == 0);
}
