#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "cluster.hpp"
#include "scoll/bulk/bulk.hpp"
#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"

using namespace scoll;
using namespace std::chrono_literals;

namespace {

using bytes = std::vector<std::byte>;
constexpr std::size_t piece_bytes = 1U << 20U;
constexpr std::size_t pull_bytes = 64U << 10U;

/// Takes an object into memory.
struct taking {
  static constexpr service_id id{0x0312};
  struct request {};
  using reply = sum<std::uint32_t>;
  std::vector<bytes>* places;

  status prepare(const request&, bcast_context& c) const {
    if (c.is_root() || !c.bulk()) return {};
    (*places)[c.rank()].resize(c.bulk()->length);
    return c.receive_bulk((*places)[c.rank()]);
  }
  static reply execute(const request&, bcast_context&) { return {1}; }
};

/// Pulls the same bytes one time after another until `enough()`, and notes how long each pull took.
template <class Enough>
task<std::vector<nanoseconds>> pull_until(test::virtual_cluster& c, node& at, region_descriptor from,
                                          Enough enough) {
  std::vector<nanoseconds> took;
  bytes local(pull_bytes);
  while (!enough()) {
    const time_point begun = c.now();
    const auto s = co_await pull(at, from, 0, std::span(local));
    REQUIRE(s.has_value());
    took.push_back(c.now() - begun);
  }
  co_return took;
}

nanoseconds mean(const std::vector<nanoseconds>& all) {
  nanoseconds sum{0};
  for (const nanoseconds each : all) sum += each;
  return sum / static_cast<std::int64_t>(all.size());
}

}  // namespace

TEST_CASE("pulls from a member that passes an object on keep a quarter of their rate") {
  const bulk_plan plan = GENERATE(bulk_plan::chain(), bulk_plan::binary(), bulk_plan::circulant());
  constexpr std::uint32_t n = 4;
  std::vector<bytes> places(n);
  const bytes object = test::made(64 * piece_bytes, 3);
  const bytes other = test::made(pull_bytes, 4);
  test::virtual_cluster c(n + 1);
  testing::sim_link_model wire;
  wire.jitter = 0ns;
  wire.ingress = true;
  c.network.common_path().model = wire;
  c.serve(taking{&places});
  std::vector<target> members;
  for (std::uint32_t i = 0; i < n; ++i) members.push_back({i + 1, {}});
  const auto group = c.run(c[0].create_group<taking>(members, {.tree = chain{}})).value();
  auto handle = expose(c[1], std::span(other));
  REQUIRE(handle);

  int pulls = 0;
  const auto alone = c.run(pull_until(c, c[n], handle->descriptor(), [&] { return ++pulls > 200; }));
  bcast_options options;
  options.bulk = std::span(object);
  options.bulk_plan = plan;
  options.bulk_piece_bytes = piece_bytes;
  test::flight<taking> flight(c, group, {}, options);
  const auto beside = c.run(pull_until(c, c[n], handle->descriptor(), [&] { return flight.done(); }));
  REQUIRE(flight.land().ok());
  for (std::uint32_t i = 1; i < n; ++i) CHECK(test::same(places[i], object));

  std::vector<nanoseconds> sorted = beside;
  std::sort(sorted.begin(), sorted.end());
  const nanoseconds p99 = sorted[sorted.size() * 99 / 100];
  const nanoseconds piece_time(static_cast<std::int64_t>(piece_bytes * wire.ps_per_byte / 1000));
  INFO(to_string(plan) << ": " << mean(alone).count() << " ns alone, " << mean(beside).count()
                       << " ns and p99 " << p99.count() << " ns beside, over " << beside.size() << " pulls");
  CHECK(beside.size() >= 20);
  CHECK(mean(beside) <= 4 * mean(alone));
  CHECK(p99 <= 16 * piece_time);
}
