#include <algorithm>
#include <string>
#include <vector>

#include "scoll/coro/frame_pool.hpp"
#include "spreading.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/build.hpp"
#include "tests/support/steady_state.hpp"

using namespace scoll;
using namespace spreading;
using namespace std::chrono_literals;

namespace {

/// True if a member of a binomial tree is in another one's subtree; the root is rank 0.
bool is_below(std::uint32_t rank, std::uint32_t other, std::uint32_t n) {
  while (rank != 0 && rank != other) rank = knomial{2}.parent(n, rank);
  return rank == other;
}

}  // namespace

TEST_CASE("an object reaches every member by every plan", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  const std::uint32_t most = is_virtual(kind) ? 17 : 9;
  for (const bulk_plan& plan : plans) {
    for (std::uint32_t n = 1; n <= most; n += is_virtual(kind) ? 1U : 4U) {
      for (const std::size_t size : {std::size_t{1}, std::size_t{piece}, std::size_t{5 * piece + 100}}) {
        party p(kind, n, size);
        INFO(to_string(plan) << ", " << n << " members, " << size << " bytes");
        const auto r = p.spread(plan);
        INFO(describe(r.outcome()));
        REQUIRE(r.ok());
        CHECK(r->value == (n - 1) * size);
        for (std::uint32_t rank = 0; rank < n; ++rank) {
          const shelf& s = p.w.shelves[rank];
          INFO("rank " << rank);
          CHECK((rank == 0 || p.holds(rank)));
          CHECK(s.seen == size);
          CHECK(s.chunks_agree);
          if (plan.kind() != bulk_plan_kind::circulant) CHECK(std::ranges::is_sorted(s.offsets));
          CHECK(s.executed == 1);
          CHECK(s.failed == 0);
          REQUIRE(s.info);
          CHECK(s.info->length == size);
          CHECK(s.info->plan == plan);
        }
        REQUIRE(p.c.quiet());
        for (const shelf& s : p.w.shelves) CHECK(s.replied == 1);
      }
    }
  }
}

TEST_CASE("an object of no bytes needs no place", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  party p(kind, 5, 0);
  p.w.does.gives_place = false;
  const auto r = p.spread(bulk_plan::circulant());
  REQUIRE(r.ok());
  for (const shelf& s : p.w.shelves) {
    CHECK(s.executed == 1);
    CHECK(s.seen == 0);
    REQUIRE(s.info);
    CHECK(s.info->length == 0);
  }
  CHECK(p.c.quiet());
}

TEST_CASE("a broadcast without bulk data says so to its hooks", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  party p(kind, 3, 100);
  const auto r = p.c.bcast(p.g, {1});
  REQUIRE(r.ok());
  for (const shelf& s : p.w.shelves) CHECK_FALSE(s.info);
}

TEST_CASE("a member that gives no place, or one of another size, fails and forwards nothing", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  for (const bool wrong_size : {false, true}) {
    party p(kind, 7, 3 * piece);
    p.w.does.gives_place = false;
    p.w.does.prepare = [&](bcast_context& c) -> status {
      shelf& s = p.w.shelves[c.rank()];
      if (c.is_root()) return {};
      const bool strange = c.rank() == 1;
      if (strange && !wrong_size) return {};
      s.place.assign(3 * piece + strange, std::byte{0});
      return c.receive_bulk(s.place);
    };
    const auto r = p.spread(bulk_plan::whole());
    INFO(describe(r.outcome()));
    CHECK(r.status().error() == errc::incomplete);
    CHECK(r.outcome().state(1) == member_state::failed);
    CHECK(r.outcome().why(1).where == phase::prepare);
    CHECK(r.outcome().why(1).what == errc::invalid_argument);
    for (std::uint32_t rank = 2; rank < 7; ++rank) {
      const bool below = is_below(rank, 1, 7);
      CHECK(r.outcome().state(rank) == (below ? member_state::not_reached : member_state::merged));
      CHECK(p.holds(rank) == !below);
    }
    CHECK(p.c.quiet());
  }
}

TEST_CASE("a place may be given once, and none at the root", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  party p(kind, 2, piece);
  p.w.does.gives_place = false;
  std::vector<status> root, member;
  p.w.does.prepare = [&](bcast_context& c) -> status {
    shelf& s = p.w.shelves[c.rank()];
    s.place.resize(piece);
    auto& said = c.is_root() ? root : member;
    said.push_back(c.receive_bulk(s.place));
    said.push_back(c.receive_bulk(s.place));
    return {};
  };
  REQUIRE(p.spread(bulk_plan::chain()).ok());
  CHECK(root[0].error() == errc::already_exists);
  CHECK(member[0].has_value());
  CHECK(member[1].error() == errc::already_exists);
}

TEST_CASE("a member that refuses leaves others their other sources", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  // In the chain 0 - 1 - 2 - 3 and so on, member 2 has to go up when 1 refuses: to the root.
  for (const bulk_plan& plan : {bulk_plan::chain(), bulk_plan::binary(), bulk_plan::circulant()}) {
    party p(kind, 8, 6 * piece);
    p.w.does.prepare = [&](bcast_context& c) -> status {
      return c.rank() == 1 ? status(error(errc::busy, "not now")) : status();
    };
    const auto r = p.spread(plan);
    INFO(to_string(plan) << ": " << describe(r.outcome()));
    CHECK(r.outcome().state(1) == member_state::failed);
    for (std::uint32_t rank = 2; rank < 8; ++rank) {
      const bool below = is_below(rank, 1, 8);
      CHECK(r.outcome().state(rank) == (below ? member_state::not_reached : member_state::merged));
      CHECK(p.holds(rank) == !below);
    }
    CHECK(p.c.quiet());
  }
}

TEST_CASE("a chunk that a member refuses fails this member alone", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  for (const bulk_plan& plan : plans) {
    party p(kind, 8, 6 * piece + 5);
    p.w.does.chunk = [&](const bulk_chunk& chunk, bcast_context& c) -> status {
      return c.rank() == 2 && chunk.offset == 2 * piece ? status(error(errc::io_error, "the disk is full"))
                                                        : status();
    };
    const auto r = p.spread(plan);
    INFO(to_string(plan) << ": " << describe(r.outcome()));
    CHECK(r.outcome().state(2) == member_state::failed);
    CHECK(r.outcome().why(2).where == phase::bulk);
    CHECK(r.outcome().why(2).what == errc::io_error);
    CHECK(p.w.shelves[2].executed == 0);
    CHECK(p.w.shelves[2].failed == 1);
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      if (rank == 2) continue;
      CHECK(r.outcome().state(rank) == member_state::merged);
      CHECK((rank == 0 || p.holds(rank)));
    }
    CHECK(p.c.quiet());
  }
}

TEST_CASE("a member's place is its own again when it has replied", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  for (const bulk_plan& plan : plans) {
    party p(kind, 17, 9 * piece + 1);
    p.w.does.spoils_when_replied = true;
    const auto r = p.spread(plan);
    INFO(to_string(plan) << ": " << describe(r.outcome()));
    CHECK(r.ok());
    REQUIRE(p.c.quiet());
    for (const shelf& s : p.w.shelves) {
      CHECK(s.chunks_agree);
      CHECK(s.replied == 1);
      CHECK(s.executed == 1);
    }
  }
}

namespace {

/// Checks that the outcome agrees with what the members have done, and that nobody has executed with bytes
/// that are not those of the root.
void check_account(party& p, const outcome& told) {
  for (std::uint32_t rank = 0; rank < p.w.shelves.size(); ++rank) {
    const shelf& s = p.w.shelves[rank];
    INFO("rank " << rank << ": " << describe(told));
    CHECK(s.chunks_agree);
    CHECK(s.executed <= 1);
    if (s.executed == 1 && rank != 0) CHECK(p.holds(rank));
    switch (told.state(rank)) {
      case member_state::merged:
      case member_state::executed: CHECK(s.executed == 1); break;
      case member_state::failed:
      case member_state::not_reached: CHECK(s.executed == 0); break;
      default: break;
    }
  }
}

}  // namespace

TEST_CASE("a member that dies while bulk data are on their way takes nobody with it but those below it",
          "[world]") {
  const auto kind = test::any_kind_of_bulk_world({test::fault::part});
  for (const bulk_plan& plan : plans) {
    for (const std::uint32_t n : {2U, 3U, 5U, 8U, 9U}) {
      if (test::slow_build && n == 8) continue;
      for (std::uint32_t victim = 1; victim < n; ++victim) {
        for (std::uint64_t after = 0; after < 5; ++after) {
          const bool usual = plan == bulk_plan::chain() && n == 5 && victim == 1 && after == 2;
          if (!is_virtual(kind) && !usual) continue;  // it takes real seconds
          party p(kind, n, 4 * piece + 7);
          INFO(to_string(plan) << ", " << n << " members, " << victim << " dies after " << after
                               << " pieces");
          const auto maybe_kill = [&](std::uint32_t rank, std::uint64_t pieces) {
            if (rank == victim && pieces == after) p.c.kill(victim);
          };
          p.w.does.prepare = [maybe_kill](bcast_context& c) -> status {
            maybe_kill(c.rank(), 0);
            return {};
          };
          p.w.does.chunk = [maybe_kill](const bulk_chunk& chunk, bcast_context& c) -> status {
            maybe_kill(c.rank(), chunk.offset / piece + 1);
            return {};
          };
          const auto r = p.spread(plan);
          check_account(p, r.outcome());
          for (std::uint32_t rank = 1; rank < n; ++rank) {
            if (rank == victim || is_below(rank, victim, n)) continue;
            INFO("rank " << rank << ": " << describe(r.outcome()));
            CHECK(r.outcome().state(rank) == member_state::merged);
          }
        }
      }
    }
  }
}

TEST_CASE("a broadcast with bulk data that is cancelled leaves every place to its owner", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  for (const bulk_plan& plan : plans) {
    for (const std::uint32_t after : {0U, 1U, 20U, 40U}) {
      party p(kind, 9, 6 * piece);
      p.w.does.spoils_when_replied = true;
      stop_source stop;
      std::uint32_t chunks = 0;
      p.w.does.chunk = [&](const bulk_chunk&, bcast_context&) -> status {
        if (++chunks == after) stop.request_stop();
        return {};
      };
      bcast_options o = p.options(plan);
      o.stop = stop.token();
      test::flight<install> flight(p.c, p.g, {1}, o);
      if (after == 0) stop.request_stop();
      const auto& r = flight.land();
      INFO(to_string(plan) << ", after " << after << ": " << describe(r.outcome()));
      CHECK((r.ok() || r.status().error() == errc::cancelled));
      if (after < 20) CHECK_FALSE(r.ok());
      for (std::uint32_t rank = 0; rank < 9; ++rank) {
        const shelf& s = p.w.shelves[rank];
        const member_state state = r.outcome().state(rank);
        if (state == member_state::failed || state == member_state::not_reached) CHECK(s.executed == 0);
        if (state == member_state::merged) CHECK(s.executed == 1);
        CHECK(s.chunks_agree);
      }
      REQUIRE(p.c.quiet());
      for (const shelf& s : p.w.shelves) {
        if (s.info) CHECK(s.replied == 1);
        CHECK((s.executed == 1 || s.failed == 1 || !s.info));
      }
    }
  }
}

TEST_CASE("bulk data that do not come in time fail with the deadline", "[world]") {
  const auto kind = test::any_kind_of_bulk_world({test::fault::freeze});
  party p(kind, 4, 8 * piece);
  REQUIRE(
      p.c.bcast(p.g, {1}, p.options(bulk_plan::chain())).ok());  // links over devices have room afterwards
  p.w.shelves.assign(p.w.shelves.size(), {});
  // The way between the root and member 1 is so slow that its bytes take ten times as long as they may.
  bcast_options o = p.options(bulk_plan::chain());
  o.deadline = 50ms;
  p.w.does.prepare = [&](bcast_context& c) -> status {
    if (c.rank() == 1) p.c.freeze(1);
    return {};
  };
  const auto r = p.c.bcast(p.g, {1}, o);
  INFO(describe(r.outcome()));
  CHECK(r.status().error() == errc::incomplete);
  check_account(p, r.outcome());
  CHECK(r.outcome().why(1).where == phase::bulk);
  CHECK(r.outcome().why(1).what == errc::deadline_exceeded);
  for (std::uint32_t rank = 1; rank < 4; ++rank) CHECK(p.w.shelves[rank].failed == 1);
}

TEST_CASE("bulk data that cannot travel are refused before anything is sent", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  party p(kind, 3, 100);
  bcast_options o = p.options(bulk_plan::chain());
  o.bulk_piece_bytes = 1000;
  CHECK(p.c.bcast(p.g, {1}, o).status().error() == errc::invalid_argument);
  o.bulk_piece_bytes = 0;
  o.bulk_plan = bulk_plan::unchecked(77, 0);
  CHECK(p.c.bcast(p.g, {1}, o).status().error() == errc::invalid_argument);
  o.bulk_plan.reset();
  CHECK(p.c.bcast(p.g, {1}, o).ok());
  for (const shelf& s : p.w.shelves) CHECK(s.executed == 1);
}

TEST_CASE("broadcasts with bulk data allocate nothing in a steady state") {
  if (!allocation_counter::counting || !frame_pool::pooling) {
    SUCCEED("sanitizers bring their own allocator");
    return;
  }
  for (const bulk_plan& plan : plans) {
    for (const std::size_t pieces : {std::size_t{4}, std::size_t{40}}) {
      party p(test::world_kind::memory, 6, pieces * piece);
      p.w.does.gives_place = false;
      std::vector<bytes> places(6, bytes(pieces * piece));
      p.w.does.prepare = [&](bcast_context& c) -> status {
        return c.is_root() ? status() : c.receive_bulk(places[c.rank()]);
      };
      for (shelf& s : p.w.shelves) s.offsets.reserve(64 * pieces);
      INFO(to_string(plan) << ", " << pieces << " pieces");
      CHECK(test::allocated_in_steady_state([&] { return p.spread(plan).ok(); }) == 0);
    }
  }
}

TEST_CASE(
    "a broadcast that comes before another one has given its bulk data back finds the memory it needs") {
  if (!allocation_counter::counting || !frame_pool::pooling) {
    SUCCEED("sanitizers bring their own allocator");
    return;
  }
  constexpr std::uint32_t n = 6;
  for (const bulk_plan& plan : {bulk_plan::chain(), bulk_plan::binary(), bulk_plan::circulant()}) {
    party p(test::world_kind::memory, n, 4 * piece);
    testing::sim_network& wires = dynamic_cast<test::memory_world&>(p.c.surroundings()).net;
    p.w.does.gives_place = false;
    std::vector<bytes> places(n, bytes(4 * piece));
    p.w.does.prepare = [&](bcast_context& c) -> status {
      return c.is_root() ? status() : c.receive_bulk(places[c.rank()]);
    };
    for (shelf& s : p.w.shelves) s.offsets.reserve(1000);
    // The word that a member needs nothing more comes late, unless it goes to the member's parent.
    for (std::uint32_t from = 1; from < n; ++from) {
      for (std::uint32_t to = 1; to < n; ++to) {
        const bool child = knomial{2}.parent(n, from) == to || knomial{2}.parent(n, to) == from;
        if (to != from && !child) wires.path(from, to).model = testing::sim_link_model::ideal(5ms);
      }
    }
    // The number of members on which a broadcast has not ended when the next one begins.
    std::uint32_t unended = 0, ok = 0;
    const auto spread = [&](int times, nanoseconds pause) {
      for (int i = 0; i < times; ++i) {
        ok += p.spread(plan).ok();
        p.c.pass(pause);
        for (std::uint32_t rank = 0; rank < n; ++rank) unended += p.c.engine(rank).operations() != 0;
      }
    };
    INFO(to_string(plan));
    spread(4, 100ms);
    CHECK(unended == 0);
    const std::size_t before = allocation_counter::on_this_thread() - wires.queue_growths();
    spread(8, 0ms);
    const std::size_t allocated = allocation_counter::on_this_thread() - wires.queue_growths() - before;
    CHECK(ok == 12);
    CHECK(unended > 0);
    // The thread's pool of small blocks may grow once. An operation with bulk data and what belongs to it would
    // be 40.
    CHECK(allocated < 20);
  }
}
