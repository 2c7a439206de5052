#include <algorithm>
#include <deque>
#include <functional>
#include <vector>

#include "cluster.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/tree/flat.hpp"
#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/build.hpp"
#include "tests/support/bytes.hpp"
#include "tests/support/steady_state.hpp"

using namespace scoll;
using namespace std::chrono_literals;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::uint32_t window_piece = 64 * 1024;

/// What a member has stored of the parts that it saw.
struct window_store {
  bytes stored;
  std::uint32_t executed = 0;
  std::uint32_t failed = 0;
};

struct window_world {
  std::deque<window_store> stores;
  bytes object;
  std::function<nanoseconds(const bulk_chunk&, bcast_context&)> takes;
  std::function<status(const bulk_chunk&, bcast_context&)> chunk;
};

/// Stores an object part by part.
template <std::uint32_t Slots>
struct push {
  static constexpr service_id id{0x0311};
  static constexpr nanoseconds processing_bound = 1s;
  static constexpr std::uint32_t bulk_window = Slots;
  struct request {};
  using reply = sum<std::uint64_t>;
  window_world* w;

  window_store& here(bcast_context& c) const { return w->stores[c.rank()]; }

  task<status> on_bulk(const bulk_chunk& chunk, bcast_context& c) {
    if (w->takes) co_await sleep_for(w->takes(chunk, c));
    window_store& s = here(c);
    if (s.stored.size() != chunk.offset) co_return error(errc::malformed, "parts come in order");
    s.stored.insert(s.stored.end(), chunk.bytes.begin(), chunk.bytes.end());
    co_return w->chunk ? w->chunk(chunk, c) : status();
  }
  void bulk_failed(const error&, bcast_context& c) noexcept { ++here(c).failed; }
  reply execute(const request&, bcast_context& c) {
    ++here(c).executed;
    return {here(c).stored.size()};
  }
};

template <std::uint32_t Slots>
struct window_party {
  window_party(test::world_kind kind, std::uint32_t n, std::size_t size, const tree_spec& tree = knomial{2})
      : c(kind, n) {
    w.stores.resize(n);
    w.object = test::made(size, 9);
    c.serve(push<Slots>{&w});
    g = c.make_group<push<Slots>>(0, tree);
  }
  window_world w;  // before the nodes, whose hooks use it
  test::cluster c;
  group<push<Slots>> g;

  auto spread(std::optional<bulk_plan> plan = {}) {
    bcast_options o;
    o.bulk = w.object;
    o.bulk_plan = plan;
    o.bulk_piece_bytes = window_piece;
    return c.bcast(g, {}, o);
  }
  bool holds(std::uint32_t rank) const { return test::same(w.stores[rank].stored, w.object); }
};

const std::vector<bulk_plan> window_plans{bulk_plan::chain(), bulk_plan::binary(), bulk_plan::kary(3),
                                          bulk_plan::knomial(2), bulk_plan::knomial(4)};

template <std::uint32_t Slots>
void spread_everywhere(test::world_kind kind) {
  for (const bulk_plan& plan : window_plans) {
    for (const std::uint32_t n : {1U, 2U, 3U, 8U, 9U, 17U}) {
      for (const std::size_t size :
           {std::size_t{0}, std::size_t{1}, std::size_t{window_piece}, std::size_t{11 * window_piece + 3}}) {
        if (!is_virtual(kind) && n > 3 && n != 9) continue;
        window_party<Slots> p(kind, n, size);
        INFO(to_string(plan) << ", " << n << " members, " << size << " bytes, " << Slots << " slots");
        const auto r = p.spread(plan);
        INFO(describe(r.outcome()));
        REQUIRE(r.ok());
        CHECK(r->value == n * size);
        for (std::uint32_t rank = 0; rank < n; ++rank) CHECK(p.holds(rank));
        REQUIRE(p.c.quiet());
      }
    }
  }
}

}  // namespace

TEST_CASE("an object passes through the slots of every member", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  spread_everywhere<1>(kind);
  spread_everywhere<8>(kind);
  if (!is_virtual(kind)) return;
  spread_everywhere<2>(kind);
  spread_everywhere<64>(kind);
}

TEST_CASE("a plan for slots is chosen, and one that cannot pass is refused", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  window_party<4> p(kind, 9, 20 * window_piece);
  REQUIRE(p.spread().ok());
  for (const bulk_plan& plan : {bulk_plan::whole(), bulk_plan::circulant()}) {
    const auto r = p.spread(plan);
    CHECK(r.status().error() == errc::incomplete);
    CHECK(r.outcome().why(1).where == phase::prepare);
    CHECK(r.outcome().why(1).what == errc::invalid_argument);
    CHECK(r.outcome().why(1).what.text().find(to_string(plan)) != std::string_view::npos);
  }
}

TEST_CASE("a slow member keeps the others waiting, and nothing is lost", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  window_party<2> p(kind, 6, 12 * window_piece);
  p.w.takes = [](const bulk_chunk&, bcast_context& c) { return c.rank() == 3 ? 20ms : 1ms; };
  const auto r = p.spread(bulk_plan::chain());
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  for (std::uint32_t rank = 0; rank < 6; ++rank) CHECK(p.holds(rank));
}

TEST_CASE("a member that stands still for seconds finds its pieces passed, and gets them from the root") {
  const auto kind = test::world_kind::memory;  // it takes twenty seconds
  window_party<2> p(kind, 6, 12 * window_piece, chain{});
  time_point done_elsewhere{};
  p.w.takes = [&](const bulk_chunk& part, bcast_context& c) {
    if (c.rank() == 5 && part.offset == 11 * window_piece) done_elsewhere = p.c.now();
    return c.rank() == 3 && part.offset == 2 * window_piece ? 20s : 0s;
  };
  bcast_options o;
  o.bulk = p.w.object;
  o.bulk_plan = bulk_plan::binary();  // 3 reads from 1, and nobody from 3
  o.bulk_piece_bytes = window_piece;
  o.bulk_time = 60s;
  const time_point began = p.c.now();
  const auto r = p.c.bcast(p.g, {}, o);
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  for (std::uint32_t rank = 0; rank < 6; ++rank) CHECK(p.holds(rank));
  CHECK(done_elsewhere - began < 10s);
}

TEST_CASE("those that get their pieces from a member that stands still get them from others") {
  const auto kind = test::world_kind::memory;  // it takes twenty seconds
  for (const tree_spec& tree : {tree_spec(chain{}), tree_spec(flat{})}) {
    window_party<2> p(kind, 6, 12 * window_piece, tree);
    time_point done_behind{};
    p.w.takes = [&](const bulk_chunk& part, bcast_context& c) {
      if (c.rank() == 5 && part.offset == 11 * window_piece) done_behind = p.c.now();
      return c.rank() == 2 && part.offset == 3 * window_piece ? 20s : 0s;
    };
    bcast_options o;
    o.bulk = p.w.object;
    o.bulk_plan = bulk_plan::chain();  // 5 gets its pieces through 2
    o.bulk_piece_bytes = window_piece;
    o.bulk_time = 60s;
    const time_point began = p.c.now();
    const auto r = p.c.bcast(p.g, {}, o);
    INFO(describe(r.outcome()));
    REQUIRE(r.ok());
    for (std::uint32_t rank = 0; rank < 6; ++rank) CHECK(p.holds(rank));
    CHECK(done_behind - began < 3s);
  }
}

TEST_CASE("the pieces pass on through a member whose service refuses one", "[world]") {
  const auto kind = test::any_kind_of_bulk_world();
  for (const bulk_plan& plan : window_plans) {
    window_party<2> p(kind, 8, 9 * window_piece + 5);
    p.w.chunk = [&](const bulk_chunk& chunk, bcast_context& c) -> status {
      return c.rank() == 2 && chunk.offset == 3 * window_piece
                 ? status(error(errc::io_error, "the disk is full"))
                 : status();
    };
    const auto r = p.spread(plan);
    INFO(to_string(plan) << ": " << describe(r.outcome()));
    CHECK(r.outcome().state(2) == member_state::failed);
    CHECK(r.outcome().why(2).where == phase::bulk);
    CHECK(p.w.stores[2].failed == 1);
    for (const std::uint32_t rank : {0U, 1U, 3U, 4U, 5U, 6U, 7U}) {
      CHECK(r.outcome().state(rank) == member_state::merged);
      CHECK(p.holds(rank));
    }
    CHECK(p.c.quiet());
  }
}

TEST_CASE("a member that dies while pieces pass takes nobody with it but those below it", "[world]") {
  const auto kind = test::any_kind_of_bulk_world({test::fault::part});
  const auto is_below = [](std::uint32_t rank, std::uint32_t other, std::uint32_t n) {
    while (rank != 0 && rank != other) rank = knomial{2}.parent(n, rank);
    return rank == other;
  };
  for (const bulk_plan& plan : window_plans) {
    for (const std::uint32_t n : {2U, 3U, 5U, 8U, 9U}) {
      if (test::slow_build && n == 8) continue;
      for (std::uint32_t victim = 1; victim < n; ++victim) {
        for (std::uint64_t after = 0; after < 7; ++after) {
          const bool usual = plan == bulk_plan::chain() && n == 5 && victim == 1 && after == 2;
          if (!is_virtual(kind) && !usual) continue;  // it takes real seconds
          window_party<2> p(kind, n, 6 * window_piece + 7);
          INFO(to_string(plan) << ", " << n << " members, " << victim << " dies after " << after
                               << " pieces");
          p.w.chunk = [&](const bulk_chunk& chunk, bcast_context& c) -> status {
            if (c.rank() == victim && chunk.offset == after * window_piece) p.c.kill(victim);
            return {};
          };
          const auto r = p.spread(plan);
          INFO(describe(r.outcome()));
          for (std::uint32_t rank = 0; rank < n; ++rank) {
            if (p.w.stores[rank].executed != 0) CHECK(p.holds(rank));
            if (rank != 0 && is_below(rank, victim, n)) continue;
            CHECK(r.outcome().state(rank) == member_state::merged);
          }
        }
      }
    }
  }
}

TEST_CASE("pieces pass through slots without allocations in a steady state") {
  if (!allocation_counter::counting || !frame_pool::pooling) {
    SUCCEED("sanitizers bring their own allocator");
    return;
  }
  for (const bulk_plan& plan : window_plans) {
    for (const std::size_t pieces : {std::size_t{4}, std::size_t{40}}) {
      window_party<8> p(test::world_kind::memory, 6, pieces * window_piece);
      for (window_store& s : p.w.stores) s.stored.reserve(p.w.object.size());
      INFO(to_string(plan) << ", " << pieces << " pieces");
      CHECK(test::allocated_in_steady_state([&] {
              for (window_store& s : p.w.stores) s.stored.clear();
              return p.spread(plan).ok();
            }) == 0);
      for (std::uint32_t rank = 0; rank < 6; ++rank) CHECK(p.holds(rank));
    }
  }
}
