#include <algorithm>
#include <string>
#include <vector>

#include "cluster.hpp"
#include "scoll/collective/plan_tree.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/tree/flat.hpp"
#include "tests/catch.hpp"
#include "timed_nodes.hpp"
#include "transport/sim/sim_network.hpp"

using namespace scoll;
using scoll::test::timed_nodes;
using scoll::test::virtual_cluster;

namespace {

void serve_probe(virtual_cluster& c, const std::vector<std::uint64_t>& hosts = {},
                 std::uint32_t processors = 0) {
  for (std::uint32_t i = 0; i < c.size(); ++i)
    serve_link_probe(c[i], {i < hosts.size() ? hosts[i] : i + 1, processors}).value();
}

std::vector<node_id> peers_of(const virtual_cluster& c) {
  std::vector<node_id> peers;
  for (node_id id = 2; id <= c.size(); ++id) peers.push_back(id);
  return peers;
}

result<measured_links> measure(virtual_cluster& c, std::vector<node_id> peers, measure_options options = {}) {
  return c.run(measure_links(c[0], std::move(peers), std::move(options)));
}
result<tree_plan> plan(virtual_cluster& c, std::uint32_t root, plan_options options = {}) {
  return c.run(plan_tree(c[root], c.targets(), std::move(options)));
}

/// Timed nodes that serve the probe of links.
class timed_fleet : public timed_nodes {
 public:
  timed_fleet(std::uint32_t size, const testing::sim_link_model& model) : timed_nodes(5, size, 4096) {
    network.common_path().model = model;
    boot([](node& self, std::uint32_t i) { serve_link_probe(self, {i + 1, 0}).value(); });
  }

  measured_links measure(std::vector<node_id> peers, measure_options options = {}) {
    auto found = run(measure_links((*this)[0], std::move(peers), std::move(options)));
    INFO((found ? "" : describe(found.error())));
    REQUIRE(found.has_value());
    return std::move(*found);
  }
};

std::uint64_t count_ns(nanoseconds d) {
  return static_cast<std::uint64_t>(d.count());
}

}  // namespace

TEST_CASE("latency is measured as it is, where nothing else takes time", "[plan]") {
  for (const int us : {1, 10, 250}) {
    virtual_cluster c(5, {}, std::chrono::microseconds(us));
    serve_probe(c);
    const auto found = measure(c, peers_of(c));
    REQUIRE(found.has_value());
    REQUIRE(found->map.classes.size() == 1);
    const link_costs expected{.latency = count_ns(std::chrono::microseconds(us))};
    CHECK(found->map.classes[0].name == "network");
    CHECK(found->map.classes[0].costs == expected);
    CHECK(found->by_class[0].members == 4);
    CHECK(found->by_class[0].at_once == 4);
    CHECK(found->by_class[0].round_trip == 2 * std::chrono::microseconds(us));
    CHECK(found->by_class[0].samples >= 12);
    CHECK(found->map.host_of == std::vector<std::uint32_t>{0, 1, 2, 3, 4});
    CHECK_FALSE(found->map.local);
    // The measurement leaves nothing behind.
    CHECK(c.quiet());
    for (std::uint32_t i = 0; i < c.size(); ++i) CHECK(c.engine(i).groups() == 0);
  }
}

TEST_CASE("o, L, g and the cost of merging are measured as the simulated wires and processors have them",
          "[plan]") {
  testing::sim_link_model model;
  model.latency = std::chrono::microseconds(100);
  model.overhead = std::chrono::microseconds(4);
  model.gap = std::chrono::microseconds(9);
  model.ps_per_byte = 0;
  model.jitter = nanoseconds(0);
  model.sender_busy = true;
  timed_fleet fleet(9, model);
  const measured_links found = fleet.measure({2, 3, 4, 5, 6, 7, 8, 9});
  const link_costs& costs = found.map.classes.at(0).costs;
  CAPTURE(costs.send, costs.receive, costs.latency, costs.gap, costs.merge, costs.wake);
  CHECK(costs.latency == 100'000);
  CHECK(costs.send == 4000);
  CHECK(costs.receive == 4000);
  CHECK(costs.merge == 4000);
  CHECK(costs.gap == 9000);
  CHECK(costs.wake == 0);
  CHECK(found.by_class[0].round_trip == std::chrono::microseconds(2 * 100 + 4 * 4));
}

TEST_CASE("a gap that no processor explains is seen", "[plan]") {
  testing::sim_link_model model;
  model.latency = std::chrono::microseconds(100);
  model.overhead = std::chrono::microseconds(1);
  model.gap = std::chrono::microseconds(6);
  model.ps_per_byte = 0;
  model.jitter = nanoseconds(0);
  timed_fleet fleet(7, model);
  const measured_links found = fleet.measure({2, 3, 4, 5, 6, 7});
  CHECK(found.map.classes.at(0).costs.gap == 6000);
  CHECK(found.map.classes.at(0).costs.merge == 1000);
}

TEST_CASE("the costs of bulk data are measured as the simulated wires and processors have them", "[plan]") {
  testing::sim_link_model model;
  model.latency = std::chrono::microseconds(30);
  model.overhead = nanoseconds(0);
  model.gap = nanoseconds(0);
  model.ps_per_byte = 500;
  model.jitter = nanoseconds(0);
  model.ingress = true;
  {
    timed_fleet fleet(3, model);
    const bulk_costs found = fleet.measure({2, 3}).map.classes.at(0).bulk.value();
    CAPTURE(found.piece_ns, found.link_ps, found.hash_ps, found.host_ps, found.hop_ns);
    CHECK(found.hash_ps == 0);
    CHECK((found.link_ps >= 500 && found.link_ps <= 505));
    CHECK(found.host_ps == found.link_ps);  // the way into a host is its members' in turn
    CHECK(found.piece_ns < 1000);
    CHECK((found.hop_ns >= 30'000 && found.hop_ns < 31'000));
  }
  model.overhead = std::chrono::microseconds(5);
  timed_fleet fleet(3, model);
  const bulk_costs found = fleet.measure({2, 3}).map.classes.at(0).bulk.value();
  CAPTURE(found.piece_ns, found.link_ps, found.hash_ps, found.host_ps, found.hop_ns);
  CHECK(found.link_ps > 505);  // each chunk of 4 KiB takes its processor's time
  CHECK(found.hop_ns >= 30'000);
}

TEST_CASE("the processors of a host bound the bulk data that its members take in", "[plan]") {
  virtual_cluster c(4);
  serve_probe(c, {9, 9, 9, 9}, 2);
  const auto found = measure(c, peers_of(c));
  REQUIRE(found.has_value());
  REQUIRE(found->map.classes.at(0).bulk);
  CHECK(found->map.classes.at(0).bulk->host_ps == 0);  // no processor works here
  CHECK(found->map.classes.at(0).bulk->host_small_ps == 0);
}

TEST_CASE("bulk data is not measured if nobody asks, and its failure is no error", "[plan]") {
  virtual_cluster c(3);
  serve_probe(c);
  measure_options options;
  options.bulk = false;
  CHECK_FALSE(measure(c, peers_of(c), options)->map.bulk());
  options.bulk = true;
  CHECK(measure(c, peers_of(c), options)->map.bulk());
}

TEST_CASE("peers of another network are a class of their own", "[plan]") {
  testing::sim_link_model model;
  model.latency = std::chrono::microseconds(5);
  model.overhead = nanoseconds(0);
  model.gap = nanoseconds(0);
  model.ps_per_byte = 0;
  model.jitter = nanoseconds(0);
  timed_fleet fleet(6, model);
  for (const std::uint32_t far : {4U, 5U}) {
    fleet.network.path(0, far).model.latency = std::chrono::microseconds(80);
    fleet.network.path(far, 0).model.latency = std::chrono::microseconds(80);
  }
  measure_options options;
  options.classes = {{"far away", "host:4"}, {"far away", "host:5"}};
  const measured_links found = fleet.measure({6, 2, 3, 4, 5}, options);
  REQUIRE(found.map.classes.size() == 2);
  CHECK(found.map.classes[0].name == "far away");
  CHECK(found.map.classes[0].costs.latency == 80'000);
  CHECK(found.map.classes[1].name == "network");
  CHECK(found.map.classes[1].costs.latency == 5'000);
  CHECK(found.map.class_of == std::vector<std::uint32_t>{0, 0, 1, 1, 1, 0});
  CHECK(found.by_class[0].members == 2);
}

TEST_CASE("hosts that are shared are told apart, with their processors", "[plan]") {
  virtual_cluster c(6);
  serve_probe(c, {70, 70, 80, 80, 70, 90}, 2);
  const auto found = measure(c, peers_of(c));
  REQUIRE(found.has_value());
  CHECK(found->map.host_of == std::vector<std::uint32_t>{0, 0, 1, 1, 0, 2});
  CHECK(found->map.processors == std::vector<std::uint32_t>{2, 2, 2});
  REQUIRE(found->map.classes.size() == 2);
  CHECK(found->map.classes[*found->map.local].name == "same host");
  CHECK(found->by_class[*found->map.local].members == 2);
}

TEST_CASE("a plan holds for its root, and groups can be made with it", "[plan]") {
  virtual_cluster c(9);
  serve_probe(c, {1, 1, 1, 2, 2, 2, 3, 3, 3}, 1);
  for (const std::uint32_t root : {0U, 4U, 8U}) {
    const auto found = plan(c, root);
    REQUIRE(found.has_value());
    CHECK(found->members == 9);
    CHECK(found->predicted->merged == found->candidates.front().predicted.merged);
    // Only latency has a cost, so all other servers are one step away.
    CHECK(found->tree == tree_spec(flat{}));
    CHECK(found->predicted->merged == 20'000);
    // In relative ranks: the root's own host first and last, whatever its rank.
    CHECK(std::ranges::count(found->links.host_of, 0U) == 3);
    CHECK(found->links.host_of[0] == 0);
  }
  CHECK(plan(c, 4)->links.host_of == std::vector<std::uint32_t>{0, 0, 1, 1, 1, 2, 2, 2, 0});
  const auto alone = c.run(plan_tree(c[0], {{1, {}}}));
  REQUIRE(alone.has_value());
  CHECK(alone->predicted->merged == 0);
}

TEST_CASE("a pinned tree is the plan, measured only if that is asked for", "[plan]") {
  node_options base;
  base.pinned_tree = kary{3};
  virtual_cluster c(5, base);
  const auto blind = plan(c, 0);  // no node serves the probe, so nothing is sent
  REQUIRE(blind.has_value());
  CHECK((blind->pinned && blind->tree == tree_spec(kary{3}) && !blind->predicted));
  plan_options measured;
  measured.measure_pinned = true;
  CHECK(plan(c, 0, measured).error() == errc::unknown_service);
  serve_probe(c);
  const auto seen = plan(c, 0, measured);
  REQUIRE(seen.has_value());
  CHECK((seen->pinned && seen->tree == tree_spec(kary{3})));
  CHECK(seen->predicted->merged == 40'000);
  CHECK(seen->why.find("without it flat would be taken, with 20.0 us") != std::string::npos);

  node_options wrong;
  wrong.pinned_tree = tree_spec(kary::kind, {1, 0, 0});
  CHECK(wrong.validate().error() == errc::unknown_tree);
}

TEST_CASE("peers that do not answer are named, and nothing is left behind", "[plan]") {
  virtual_cluster c(6);
  serve_probe(c);
  c.kill(2);
  c.kill(4);
  const auto dead = measure(c, peers_of(c));
  CHECK(dead.error() == errc::unreachable);
  CHECK(dead.error().text().starts_with("nodes 3, 5 of 5: "));
  c.engine(0).on_dead(4, 1);
  measure_options quick;
  CHECK(measure(c, {2, 4}, quick).error() == errc::peer_died);
  CHECK(measure(c, {2, 4}, quick).error().text().starts_with("node 4 of 2: "));
  CHECK(measure(c, {2, 6}).has_value());  // it is not busy any more
  CHECK(c.engine(0).groups() == 0);
}

TEST_CASE("links are measured with requests of any size that a broadcast may have", "[plan]") {
  virtual_cluster c(3);
  serve_probe(c);
  measure_options options;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{5}, std::size_t{64}, max_request_bytes}) {
    INFO(bytes);
    options.request_bytes = bytes;
    CHECK(measure(c, peers_of(c), options).has_value());
  }
  options.request_bytes = max_request_bytes + 1;
  CHECK(measure(c, peers_of(c), options).error() == errc::too_large);
}

TEST_CASE("what cannot be measured is an error", "[plan]") {
  virtual_cluster c(4);
  CHECK(measure(c, {2}).error() == errc::unknown_service);
  serve_link_probe(c[0], {1, 0}).value();
  CHECK(serve_link_probe(c[0]).error() == errc::already_exists);
  const auto unserved = measure(c, {2, 3});
  CHECK(unserved.error() == errc::unknown_service);
  CHECK(unserved.error().text().starts_with("nodes 2, 3 of 2: "));
  CHECK(measure(c, {}).error() == errc::invalid_argument);
  CHECK(measure(c, {1}).error() == errc::duplicate_target);
  CHECK(measure(c, {2, 2}).error() == errc::duplicate_target);
  CHECK(measure(c, {77}).error() == errc::unreachable);
  CHECK(c.run(plan_tree(c[0], {{2, {}}, {3, {}}})).error() == errc::not_member);
  serve_link_probe(c[1], {2, 0}).value();
  c.network.freeze(1);
  measure_options hasty;
  hasty.deadline = std::chrono::milliseconds(50);
  const time_point before = c.ex.now();
  const auto late = measure(c, {2}, hasty);
  CHECK(late.error() == errc::deadline_exceeded);
  CHECK(c.ex.now() - before < std::chrono::seconds(1));
  c.network.thaw(1);
}

namespace {

task<std::vector<result<measured_links>>> measure_twice(node& self) {
  const std::vector<node_id> peers{2, 3};
  std::vector<task<result<measured_links>>> at_once;
  at_once.push_back(measure_links(self, peers));
  at_once.push_back(measure_links(self, peers));
  auto ended = co_await when_all(std::move(at_once));
  co_return std::move(ended);
}

}  // namespace

TEST_CASE("a node measures one thing at a time", "[plan]") {
  virtual_cluster c(3);
  serve_probe(c);
  const auto ended = c.run(measure_twice(c[0]));
  CHECK(ended[0].has_value());
  CHECK(ended[1].error() == errc::busy);
}

TEST_CASE("timing takes no longer than its budget", "[plan]") {
  virtual_cluster c(5, {}, std::chrono::milliseconds(1));
  serve_probe(c);
  measure_options options;
  options.budget = std::chrono::milliseconds(1);
  const time_point before = c.ex.now();
  const auto short_one = measure(c, peers_of(c), options);
  REQUIRE(short_one.has_value());
  CHECK(short_one->map.classes[0].costs.latency == 1'000'000);
  const auto short_time = c.ex.now() - before;
  const auto usual = measure(c, peers_of(c));
  REQUIRE(usual.has_value());
  CHECK(c.ex.now() - before - short_time >= std::chrono::milliseconds(280));
  CHECK(short_time < std::chrono::milliseconds(200));  // a round trip takes 2 ms
}

TEST_CASE("links within the root's zone are measured by themselves, and zoned trees are considered",
          "[plan]") {
  constexpr std::uint32_t n = 12;
  virtual_cluster c(n);
  std::vector<target> targets = c.targets();
  for (std::uint32_t i = 0; i < n; ++i) targets[i].zone = static_cast<std::uint16_t>(1 + i % 3);
  for (std::uint32_t a = 0; a < n; ++a) {
    for (std::uint32_t b = 0; b < n; ++b) {
      if (a % 3 != b % 3)
        c.network.path(a, b).model = testing::sim_link_model::ideal(std::chrono::microseconds(90));
    }
  }
  serve_probe(c);
  const auto made = c.run(plan_tree(c[1], targets, {}));
  REQUIRE(made.has_value());
  REQUIRE(made->links.classes.size() == 2);
  CHECK(made->links.classes[0].name == "network");
  CHECK(made->links.classes[0].costs.latency == 90'000);
  CHECK(made->links.classes[1].name == "same zone");
  CHECK(made->links.classes[1].costs.latency == 10'000);
  CHECK(made->links.near == 1U);
  // Relative rank 1 is in zone 3, 2 in zone 1, and 3 beside the root.
  CHECK(made->links.zone_of == std::vector<std::uint32_t>{2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1});
  const auto found = std::ranges::find(made->candidates, tree_spec(zoned{3, 4}), &tree_candidate::tree);
  REQUIRE(found != made->candidates.end());
  CHECK(found->predicted.merged == 2 * (90'000 + 10'000));
  measure_options wrong;
  wrong.places.resize(3);
  CHECK(measure(c, peers_of(c), wrong).error() == errc::invalid_argument);
}
