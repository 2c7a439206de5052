#include <cstdint>

#include "scoll/collective/bcast.hpp"
#include "scoll/node_snapshot.hpp"
#include "scoll/ship/ship.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/collective/cluster.hpp"
#include "tests/scoll/node/counted.hpp"

using namespace scoll;
using test::count;
using test::twice;

TEST_CASE("a snapshot says what a node holds, has done, and whom it knows", "[tcp]") {
  test::cluster c(test::world_kind::tcp_v4, 3);
  const node_snapshot fresh = c[0].snapshot();
  CHECK(fresh.id == 1);
  CHECK(fresh.incarnation == 1);
  CHECK(fresh.groups == 0);
  CHECK(fresh.groups_ending == 0);
  CHECK(fresh.collectives.started == 0);
  REQUIRE(fresh.peers.size() == 2);
  CHECK(fresh.peers[0].id == 2);
  CHECK(fresh.peers[1].id == 3);
  CHECK(fresh.peers[0].address == c[1].listen_address());
  CHECK_FALSE(fresh.peers[0].connected);
  CHECK(fresh.peers[0].incarnation == 0);  // not heard from so far

  c.serve(count{});
  auto all = c.make_group<count>(0, flat{});
  const auto ask = [&]() -> task<bool> {
    const auto answer = co_await bcast(all, count::request{});
    co_return answer.ok() && *answer == 3;
  };
  REQUIRE(c.run(ask()));
  c[1].serve(twice, [](const std::uint32_t& n, call_context&) { return 2 * n; }).value();
  const auto call = [&]() -> task<std::uint32_t> {
    const auto answer = co_await ship(c[0], 2, twice, 21U);
    co_return answer ? *answer : 0;
  };
  REQUIRE(c.run(call()) == 42);

  const node_snapshot root = c[0].snapshot();
  CHECK(root.groups == 1);
  CHECK(root.operations == 0);
  CHECK(root.collectives.started == 2);  // the creation and the broadcast
  CHECK(root.collectives.received == 0);
  CHECK(root.calls.shipped == 1);
  CHECK(root.calls_awaited == 0);
  CHECK(root.peers[0].connected);
  CHECK(root.peers[0].incarnation == 1);
  CHECK(root.peers[0].waiting == 0);
  CHECK_FALSE(root.peers[0].dead);

  const node_snapshot member = c[1].snapshot();
  CHECK(member.collectives.received == 2);
  CHECK(member.collectives.refused == 0);
  CHECK(member.calls.received == 1);
  CHECK(member.calls.executed == 1);
  CHECK(member.calls_served == 0);
  CHECK(member.large_bytes_held == 0);

  c[0].on_dead(3, 1);
  CHECK(c[0].snapshot().peers[1].dead);
}
