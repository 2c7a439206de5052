#include "cluster.hpp"
#include "scoll/bulk/bulk.hpp"
#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"

using namespace scoll;
using namespace std::chrono_literals;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::size_t mebibyte = 1U << 20U;

/// The part of one member, and the figures that the test checks.
struct member_part {
  node* at = nullptr;
  bytes stored;
  memory_region exposed;  ///< for the children, until the reply has gone
  region_descriptor given;
  region_descriptor passed_on;
  bool executed = false;
};

/// Carries an object down a tree: each member pulls it from its parent and exposes its own copy to its
/// children, which get the rewritten request.
struct spread {
  static constexpr service_id id{0x0301};
  static constexpr nanoseconds processing_bound = 1s;
  struct request {
    region_descriptor data;
  };
  struct reply {
    sum<std::uint64_t> stored_bytes;
  };
  std::shared_ptr<member_part> here;

  task<status> prepare(request& r, bcast_context& c) {
    here->given = r.data;
    if (!c.is_root()) {
      here->stored.resize(r.data.length);
      transfer_options options;
      options.stop = c.stop();
      options.checked = true;
      status pulled = co_await pull(*here->at, r.data, 0, std::span(here->stored), options);
      if (!pulled) co_return pulled;
      auto exposed = expose(*here->at, std::span<const std::byte>(here->stored));
      if (!exposed) co_return exposed.error();
      here->exposed = std::move(*exposed);
      r.data = here->exposed.descriptor();
    }
    here->passed_on = r.data;
    co_return status{};
  }
  reply execute(const request&, bcast_context&) {
    here->executed = true;
    return {{here->stored.size()}};
  }
  void replied(bcast_context&) noexcept { here->exposed.unexpose(); }
};

struct shelves {
  explicit shelves(test::cluster& c) {
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      all.push_back(std::make_shared<member_part>());
      all[i]->at = &c[i];
      c[i].serve(spread{all[i]}).value();
    }
  }
  member_part& operator[](std::uint32_t i) { return *all[i]; }
  std::vector<std::shared_ptr<member_part>> all;
};

}  // namespace

TEST_CASE("an object goes down a chain by descriptors that each member rewrites for its children") {
  test::virtual_cluster c(3);
  shelves at(c);
  const auto group = c.make_group<spread>(0, chain{});
  at[0].stored = test::made(3 * mebibyte + 17, 1);
  auto handle = expose(c[0], std::span<const std::byte>(at[0].stored));
  REQUIRE(handle);
  const std::uint64_t carried_before = c.network.bytes_carried();
  const auto r = c.bcast(group, {handle->descriptor()});
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  CHECK(r->stored_bytes.value == 3 * at[0].stored.size());
  for (std::uint32_t i = 1; i < 3; ++i) {
    CHECK(test::same(at[i].stored, at[0].stored));
    CHECK(at[i].given.node == i);  // node ids are ranks + 1: its parent's
    CHECK(at[i].given == at[i - 1].passed_on);
    CHECK(at[i].passed_on.node == i + 1);
  }
  const std::uint64_t carried = c.network.bytes_carried() - carried_before;
  CHECK(carried < 2 * at[0].stored.size() + mebibyte / 2);  // once per edge

  // No memory stays exposed after the replies have been sent.
  bytes into(10);
  for (std::uint32_t i = 1; i < 3; ++i)
    CHECK(c.run(pull(c[0], at[i].passed_on, 0, std::span(into))).error() == errc::stale_descriptor);
  CHECK(c.run(pull(c[1], handle->descriptor(), 0, std::span(into))).has_value());
  handle->unexpose();
  CHECK(c.quiet());
}

TEST_CASE("a revoke ends the transfer of a hook, and the memory is free then") {
  test::virtual_cluster c(3);
  shelves at(c);
  const auto group = c.make_group<spread>(0, chain{});
  at[0].stored = test::made(8 * mebibyte, 1);
  auto handle = expose(c[0], std::span<const std::byte>(at[0].stored));
  REQUIRE(handle);
  const std::uint64_t carried_before = c.network.bytes_carried();
  test::flight<spread> running(c, group, {handle->descriptor()});
  while (c.network.bytes_carried() - carried_before < 2 * mebibyte) c.ex.run_for(10us);
  REQUIRE(at[1].stored.size() == 8 * mebibyte);
  const auto held = c[1].find_group<spread>(group.id()).value();
  REQUIRE(c.run(held.revoke(7, "plan B")));
  auto& r = running.land();
  CHECK(r.status().error() == errc::revoked);
  for (const std::uint32_t i : {1U, 2U}) CHECK_FALSE(at[i].executed);
  const std::uint64_t carried = c.network.bytes_carried() - carried_before;
  CHECK(carried < 8 * mebibyte);
  handle->unexpose();
  REQUIRE(c.quiet());
  const bytes before = at[1].stored;
  c.ex.run_for(1s);
  CHECK(at[1].stored == before);
}

TEST_CASE("a member that cannot have the object fails in prepare, and nobody below it is told", "[world]") {
  test::cluster c(test::any_kind_of_bulk_world(), 3, {}, 1ms);
  shelves at(c);
  const auto group = c.make_group<spread>(0, chain{});
  at[0].stored = test::made(mebibyte, 1);
  auto handle = expose(c[0], std::span<const std::byte>(at[0].stored));
  REQUIRE(handle);
  const region_descriptor stale = handle->descriptor();
  handle->unexpose();
  const auto r = c.bcast(group, {stale});
  CHECK_FALSE(r.ok());
  CHECK(r.outcome().state(0) == member_state::merged);
  CHECK(r.outcome().state(1) == member_state::failed);
  CHECK(r.outcome().why(1).where == phase::prepare);
  CHECK(r.outcome().why(1).what == errc::stale_descriptor);
  CHECK(r.outcome().state(2) == member_state::not_reached);
  CHECK_FALSE(at[2].executed);
  CHECK(c.quiet());
}

TEST_CASE("a member that dies while its child pulls from it ends the transfer, and the account says so") {
  test::virtual_cluster c(3, {}, 1ms);
  shelves at(c);
  const auto group = c.make_group<spread>(0, chain{});
  at[0].stored = test::made(8 * mebibyte, 1);
  auto handle = expose(c[0], std::span<const std::byte>(at[0].stored));
  REQUIRE(handle);
  test::flight<spread> f(c, group, {handle->descriptor()});
  while (at[2].stored.empty()) c.pass(100us);
  c.kill(1);
  const auto& r = f.land();
  INFO(describe(r.outcome()));
  CHECK_FALSE(r.ok());
  CHECK(r.outcome().state(0) == member_state::merged);
  CHECK(r.outcome().state(1) == member_state::unknown);
  CHECK(r.outcome().state(2) == member_state::unknown);
  c.pass(2s);
  CHECK_FALSE(at[2].executed);
  CHECK_FALSE(at[2].exposed.exposed());
  c.revive(1);
  CHECK(c.quiet());
}
