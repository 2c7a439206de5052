#include <chrono>
#include <vector>

#include "infiltrated.hpp"
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

void gives_its_reply(const outsider::answer& a) {
  CHECK(a.came);
  CHECK_FALSE(a.refused);
  CHECK(a.head.flags == collective_reply_head::clean);
  CHECK(a.head.values == 1);
}

}  // namespace

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
    const auto gone = root.ask(root.head(5, 9));
    CHECK(gone.came);
    CHECK(gone.head.flags == 0);
    CHECK(gone.head.values == 0);
    detail::outcome_builder account;
    const rank_range self[] = {{1, 2}};
    wire::reader in(std::span(gone.payload).first(gone.head.account_bytes));
    REQUIRE(account.decode(in, self));
    CHECK(account.runs().front().state == member_state::unknown);
    CHECK(account.causes()[1].what == errc::record_gone);
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
  is_malformed(0, repairs | collective_head::creation_rides);
  CHECK(root.executed() == 0);
}
