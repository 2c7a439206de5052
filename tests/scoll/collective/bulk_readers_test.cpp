#include <vector>

#include "outsider.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/coro/sleep.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using detail::collective_head;
using detail::collective_kind;

namespace {

struct idle_service {
  static constexpr service_id id{0x0311};
  struct request {
    std::uint32_t number = 0;
  };
  static void execute(const request&, bcast_context&) {}
};

/// A request to read the bulk data of a broadcast that may come later.
collective_head reading(const group_id& group, std::uint64_t operation, nanoseconds wait) {
  collective_head head;
  head.kind = static_cast<std::uint8_t>(collective_kind::bulk);
  head.group = group;
  head.operation = {1, 1, operation, 0};
  head.remaining_ns = static_cast<std::uint64_t>(wait.count());
  return head;
}

/// Takes an object. One member refuses its first chunk, and another one is slow to begin.
struct picky {
  static constexpr service_id id{0x0313};
  struct request {
    std::uint32_t refuser = 0;
    std::uint32_t slow = 0;
  };
  std::vector<std::vector<std::byte>>* places;
  std::uint32_t* refuser;

  task<status> prepare(const request& r, bcast_context& c) const {
    *refuser = r.refuser;
    if (c.rank() == r.slow) co_await sleep_for(30ms);
    if (c.is_root()) co_return status{};
    auto& place = (*places)[c.rank()];
    place.resize(c.bulk()->length);
    co_return c.receive_bulk(place);
  }
  status on_bulk(const bulk_chunk&, bcast_context& c) const {
    return c.rank() == *refuser ? status(error(errc::io_error, "no")) : status();
  }
  static void execute(const request&, bcast_context&) {}
};

}  // namespace

TEST_CASE("nobody waits for a reader that has failed at any moment") {
  constexpr std::size_t piece = 64 * 1024;
  for (const std::uint32_t n : {4U, 5U, 8U}) {
    std::vector<std::vector<std::byte>> places(n);
    std::uint32_t refuser = 0;
    test::virtual_cluster c(n);
    c.serve(picky{&places, &refuser});
    for (const tree_spec& tree : {tree_spec(knomial{2}), tree_spec(chain{})}) {
      const auto g = c.make_group<picky>(0, tree);
      for (const std::uint32_t pieces : {1U, 2U, 4U, 9U}) {
        const std::vector<std::byte> object(pieces * piece);
        for (std::uint32_t refuses = 1; refuses < n; ++refuses) {
          for (std::uint32_t slow = 1; slow < n; ++slow) {
            bcast_options options;
            options.bulk = std::span(object);
            options.bulk_plan = bulk_plan::circulant();
            options.bulk_piece_bytes = piece;
            options.bulk_time = 20s;
            const auto r = c.bcast(g, {refuses, slow}, options);
            INFO(n << " members, " << pieces << " pieces, " << refuses << " refuses, " << slow << " is slow, "
                   << describe(r.outcome()));
            c.pass(200ms);  // of 20 s, for which a source would wait for a reader whose end it has not heard
            for (std::uint32_t i = 0; i < n; ++i) REQUIRE(c.engine(i).operations() == 0);
          }
        }
      }
      REQUIRE(c.run(c[0].destroy(g)).has_value());
    }
  }
}

TEST_CASE("a stranger cannot wait for the bulk data of a group") {
  test::virtual_cluster c(3);
  c.serve(idle_service{});
  const auto g = c.make_group<idle_service>(0, chain{});
  c[1].add_peer(77, testing::sim_network::address_of(3)).value();
  test::outsider stranger(c, 77, 3);
  const auto said = stranger.ask(2, reading(g.id(), 9, 100ms), {});
  CHECK(said.refused == errc::not_member);
  CHECK(c.engine(1).bulk_data().reading() == 0);
}

TEST_CASE("who asks for bulk data of a broadcast that never comes hears so when its time is over") {
  test::virtual_cluster c(3);
  c[1].add_peer(77, testing::sim_network::address_of(3)).value();
  test::outsider early(c, 77, 3);
  const group_id unknown{1, 1, 5, {}};
  const auto said = early.ask(2, reading(unknown, 9, 100ms), {});
  INFO(describe(said.refused));
  CHECK(said.refused == errc::stale_descriptor);
  CHECK(c.engine(1).bulk_data().reading() == 0);
}

TEST_CASE("a node lets a bounded number of requests for bulk data wait") {
  test::virtual_cluster c(3);
  c[1].add_peer(77, testing::sim_network::address_of(3)).value();
  test::outsider early(c, 77, 3);
  const group_id unknown{1, 1, 5, {}};
  for (std::uint64_t i = 1; i <= detail::max_early_readers_of_member; ++i) {
    // The requester gives up, but says that it declines, and this is remembered for as long.
    collective_head head = reading(unknown, i, 60s);
    head.flags = collective_head::declines_bulk;
    CHECK_FALSE(early.ask(2, head, {}).refused);
  }
  CHECK(c.engine(1).bulk_data().reading() == detail::max_early_readers_of_member);
  CHECK(early.ask(2, reading(unknown, 99, 60s), {}).refused == errc::busy);
  CHECK(early.ask(2, reading(unknown, 1, 60s), {}).refused == errc::already_exists);
  c.ex.run_for(60s);
  CHECK(c.engine(1).bulk_data().reading() == 0);
}

TEST_CASE("a broadcast whose bulk data is not described, or only in part, is malformed") {
  test::virtual_cluster c(3);
  c.serve(idle_service{});
  const auto g = c.make_group<idle_service>(0, chain{});
  c[1].add_peer(77, testing::sim_network::address_of(3)).value();
  test::outsider stranger(c, 77, 3);
  collective_head head = reading(g.id(), 9, 100ms);
  head.kind = static_cast<std::uint8_t>(collective_kind::broadcast);
  head.flags = collective_head::bulk_follows;
  CHECK(stranger.ask(2, head, {}).refused == errc::malformed);
}
