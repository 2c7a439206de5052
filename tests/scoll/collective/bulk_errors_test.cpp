#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "scoll/bulk/pieces.hpp"
#include "scoll/coro/error_format.hpp"
#include "spreading.hpp"

using namespace scoll;
using namespace spreading;
using namespace std::chrono_literals;

// What fails with bulk data, and for whom: the rows of docs/collectives.md.

TEST_CASE("a hook for chunks that throws fails its member alone, with what was thrown", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  for (const std::uint32_t thrower : {0U, 2U}) {
    party p(kind, 5, 4 * piece);
    p.w.does.chunk = [&](const bulk_chunk& chunk, bcast_context& c) -> status {
      if (c.rank() == thrower && chunk.offset == piece) throw std::runtime_error("the disk burns");
      return {};
    };
    const auto r = p.spread(bulk_plan::chain());
    INFO(describe(r.outcome()));
    for (std::uint32_t rank = 0; rank < 5; ++rank) {
      const shelf& s = p.w.shelves[rank];
      const bool throws = rank == thrower;
      INFO("rank " << rank);
      CHECK(r.outcome().state(rank) == (throws ? member_state::failed : member_state::merged));
      CHECK(s.executed == !throws);
      CHECK(s.failed == throws);
      CHECK((rank == 0 || throws || p.holds(rank)));
    }
    const cause& why = r.outcome().why(thrower);
    CHECK(why.where == phase::bulk);
    CHECK(why.what == errc::hook_failed);
    CHECK(why.what.text() == "the disk burns");
    CHECK(p.w.shelves[thrower].why == errc::hook_failed);
    CHECK(p.c.quiet());
  }
}

TEST_CASE("bulk data of more than 64 GiB are refused before anything is sent", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  party p(kind, 3, most_bulk_piece_bytes);
  REQUIRE(p.c.bcast(p.g, {1}).ok());
  const std::uint64_t sent = p.c[0].wire().statistics().requests_sent;
  // The same MiB again and again: one time too often.
  const std::vector<std::span<const std::byte>> parts(most_bulk_pieces + 1, p.w.object);
  bcast_options o;
  o.bulk = std::span(parts);
  const auto r = p.c.bcast(p.g, {1}, o);
  CHECK(r.status().error() == errc::too_large);
  CHECK(r.status().error().text().find(std::to_string(most_bulk_bytes)) != std::string_view::npos);
  CHECK(p.c[0].wire().statistics().requests_sent == sent);
  for (const shelf& s : p.w.shelves) CHECK(s.executed == 1);
}

TEST_CASE("a revoke of the group fails bulk data that are on their way, and every place comes back",
          "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  for (const bulk_plan& plan : plans) {
    party p(kind, 6, 12 * piece);
    p.w.does.spoils_when_replied = true;
    const auto at_member = p.c[1].find_group<install>(p.g.id()).value();
    scope revokes(p.c.get_executor());
    bool revoked = false;
    const auto revoke = [&]() -> task<void> {
      const auto told = co_await at_member.revoke(77, "another plan");
      CHECK(told.has_value());
    };
    p.w.does.chunk = [&](const bulk_chunk&, bcast_context& c) -> status {
      if (c.rank() == 1 && !std::exchange(revoked, true)) revokes.spawn(revoke());
      return {};
    };
    const auto r = p.spread(plan);
    INFO(to_string(plan) << ": " << describe(r.status().error()) << ", " << describe(r.outcome()));
    CHECK(r.status().error() == errc::revoked);
    REQUIRE(p.c.quiet());
    for (const std::uint32_t rank : {1U, 2U, 3U, 4U, 5U}) {
      const shelf& s = p.w.shelves[rank];
      INFO("rank " << rank << ": " << describe(s.why));
      CHECK(s.chunks_agree);
      CHECK(s.replied == (s.info ? 1U : 0U));
      CHECK(s.executed + s.failed == s.replied);
      // A member may find the memory of its sources gone before it hears of the revoke.
      CHECK((s.failed == 0 || s.why == errc::revoked || s.why == errc::stale_descriptor));
      if (r.outcome().state(rank) == member_state::failed) CHECK(r.outcome().why(rank).where == phase::bulk);
    }
    const shelf& first = p.w.shelves[1];
    CHECK(first.failed == 1);
    CHECK(first.why == errc::revoked);
    CHECK(first.why.detail() == 77);
    CHECK(first.why.text().find("another plan") != std::string_view::npos);
    p.c.run([](scope& s) -> task<void> { co_await s.join(); }(revokes));
  }
}

TEST_CASE("bulk data have a second and the time of their bytes at the least rate") {
  const auto took = [](std::uint64_t rate, nanoseconds own) {
    node_options base;
    base.bulk_least_rate = rate;
    party p(test::world_kind::memory, 4, 8 * piece, chain{}, base);
    REQUIRE(p.spread(bulk_plan::chain()).ok());
    // A chunk never comes to its end at member 2.
    p.w.does.prepare = [&](bcast_context& c) -> status {
      if (c.rank() == 2) p.c.freeze(2);
      return {};
    };
    bcast_options o = p.options(bulk_plan::chain());
    o.bulk_time = own;
    test::flight<install> flight(p.c, p.g, {2}, o);
    const auto& r = flight.land();
    INFO(describe(r.outcome()));
    CHECK(r.status().error() == errc::incomplete);
    CHECK(r.outcome().why(2).where == phase::bulk);
    CHECK(r.outcome().why(2).what == errc::deadline_exceeded);
    CHECK(p.w.shelves[2].executed == 1);
    return flight.took();
  };
  constexpr std::uint64_t bytes = 8 * piece;
  // What the request may take is the same each time.
  const nanoseconds of_request = took(1, 250ms) - 250ms;
  CHECK(of_request >= install::processing_bound);
  CHECK(of_request < install::processing_bound + 200ms);
  CHECK(took(bytes, {}) - of_request == 2s);
  CHECK(took(4 * bytes, {}) - of_request == 1250ms);
  CHECK(took(bytes / 2, {}) - of_request == 3s);
}

TEST_CASE("a piece that the root alters after it has hashed it is named by all who miss it") {
  party p(test::world_kind::memory, 4, 8 * piece, chain{});
  auto& wires = dynamic_cast<test::memory_world&>(p.c.surroundings()).net;
  wires.common_path().model.ps_per_byte = 1000;  // 66 us for a piece, so that pieces stand in line
  // When the first piece has come to member 1, the sixth one has been hashed and has not left.
  p.w.does.chunk = [&](const bulk_chunk& chunk, bcast_context& c) -> status {
    if (c.rank() == 1 && chunk.offset == 0) p.w.object[5 * piece + 777] ^= std::byte{1};
    return {};
  };
  const auto r = p.spread(bulk_plan::chain());
  INFO(describe(r.outcome()));
  CHECK(r.status().error() == errc::incomplete);
  for (const std::uint32_t rank : {1U, 2U, 3U}) {
    const cause& why = r.outcome().why(rank);
    INFO("rank " << rank << ": " << describe(why.what));
    CHECK(r.outcome().state(rank) == member_state::failed);
    CHECK(why.where == phase::bulk);
    CHECK(why.what == errc::checksum_mismatch);
    CHECK(why.what.text() == "piece 5 from node 1 differs from its checksum");
    CHECK(p.w.shelves[rank].executed == 0);
    CHECK(p.w.shelves[rank].why.text() == why.what.text());
  }
  CHECK(p.w.shelves[0].executed == 1);
  CHECK(p.c.quiet());
}

namespace {

/// The requests of one class that all nodes have sent so far.
std::uint64_t requests(party& p, transport::traffic_class klass) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < p.c.size(); ++i)
    p.c[i].wire().sessions([&](transport::session& s) { sum += s.credits(klass).sent(); });
  return sum;
}

std::uint64_t replies(party& p) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < p.c.size(); ++i) sum += p.c[i].wire().statistics().replies_sent;
  return sum;
}

}  // namespace

TEST_CASE("a clean broadcast with bulk data is its requests, its opens and one order for each piece") {
  using transport::traffic_class;
  constexpr std::uint32_t pieces = 5;
  for (const std::uint32_t n : {2U, 3U, 8U, 13U}) {
    party p(test::world_kind::memory, n, pieces * piece);
    REQUIRE(p.spread(bulk_plan::chain()).ok());
    REQUIRE(p.c.quiet());
    const std::uint64_t collective = requests(p, traffic_class::collective),
                        bulk = requests(p, traffic_class::bulk), answers = replies(p);
    REQUIRE(p.spread(bulk_plan::chain()).ok());
    REQUIRE(p.c.quiet());
    // In the chain a member asks the one before it for its memory, unless that is its parent in the request's tree.
    std::uint32_t opens = 0;
    for (std::uint32_t rank = 1; rank < n; ++rank) opens += knomial{2}.parent(n, rank) != rank - 1;
    INFO(n << " members, " << opens << " opens");
    CHECK(requests(p, traffic_class::collective) - collective == n - 1 + opens);
    CHECK(requests(p, traffic_class::bulk) - bulk == (n - 1) * pieces);
    CHECK(replies(p) - answers == n - 1 + opens + (n - 1) * pieces);
  }
}
