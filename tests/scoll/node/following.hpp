#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "scoll/collective/bcast.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/follow.hpp"
#include "scoll/node.hpp"
#include "scoll/node_access.hpp"
#include "tests/catch.hpp"
#include "transport/sim/sim_datagram.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

/// Nodes that follow their gossip, in simulated hosts.
namespace following {

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

inline constexpr std::uint32_t host_count = 4;
inline constexpr nanoseconds interval = gossip::least_interval;
inline constexpr nanoseconds stealth_is_over = 6s;

struct head_count {
  static constexpr service_id id{0x0200};
  struct request {};
  using reply = std::uint64_t;
  static reply execute(const request&, bcast_context&) noexcept { return 1; }
  static void merge(reply& into, const reply& from) noexcept { into += from; }
};

/// The end of a broadcast or of another awaited operation.
struct ending {
  status how;
  std::uint64_t value = 0;
  time_point at{};
};

/// One life of a server: a node, its gossip, and the bond between them.
struct server {
  server(sim_world& world, sim_network& network, sim_datagrams& datagrams, std::uint32_t host,
         gossip::configuration_ptr shared, std::uint64_t incarnation, node_id as = 0)
      : home(world, host, {}),
        rail(network, home),
        self(home, rail, node_options_of(as != 0 ? as : host + 1, incarnation)),
        port(datagrams, home),
        member(home, port, std::move(shared), sim_network::address_of(host), gossip_options_of(incarnation)),
        work(home) {
    home.enter([&] {
      self.serve(head_count{}).value();
      self.listen(sim_network::address_of(host)).value();
      for (std::uint32_t other = 0; other < host_count; ++other) {
        if (other != host) self.add_peer(other + 1, sim_network::address_of(other)).value();
      }
    });
  }

  static node_options node_options_of(node_id id, std::uint64_t incarnation) {
    node_options o;
    o.id = id;
    o.incarnation = incarnation;
    return o;
  }
  static gossip::options gossip_options_of(std::uint64_t incarnation) {
    gossip::options o;
    o.seed = 7;
    o.incarnation = incarnation;
    return o;
  }
  static std::vector<gossip_address> everybody() {
    std::vector<gossip_address> all;
    for (std::uint32_t i = host_count; i-- > 0;) all.push_back({i + 1, sim_network::address_of(i)});
    return all;
  }

  void start_gossip() {
    home.enter([&] {
      bond.emplace(follow(self, member, everybody()).value());
      work.spawn(take_part());
    });
  }
  task<void> take_part() {
    const status s = co_await gossip::run(member, stop.token());
    gossip_ended.emplace(s);
  }

  /// Adopts a group of all members, whose membership is known without a message.
  group<head_count> everyone() {
    std::vector<target> targets;
    for (std::uint32_t i = 0; i < host_count; ++i) targets.push_back({i + 1, {}});
    return self.adopt_group<head_count>(1, membership::make(targets).value()).value();
  }
  task<void> count(group<head_count> g, bcast_options options, std::optional<ending>& into) {
    const head_count::request nothing;
    const auto r = co_await bcast(g, nothing, options);
    into.emplace(ending{r.status(), r.has_value() ? *r : 0, home.now()});
  }
  void count_in_background(const group<head_count>& g, bcast_options options, std::optional<ending>& into) {
    home.enter([&] { work.spawn(count(g, options, into)); });
  }
  task<void> create(group_options options, std::optional<ending>& into) {
    std::vector<target> targets;
    for (std::uint32_t i = 0; i < host_count; ++i) targets.push_back({i + 1, {}});
    const auto g = co_await self.create_group<head_count>(targets, options);
    into.emplace(ending{g ? status() : status(g.error()), g ? g->members().size() : 0, home.now()});
  }
  task<void> shut_down(std::optional<ending>& into) {
    const status s = co_await self.shutdown(4s);
    into.emplace(ending{s, 0, home.now()});
  }
  std::uint64_t requests_sent() { return self.wire().statistics().requests_sent; }
  std::size_t dead() { return scoll::detail::node_access::engine(self).lives().dead().size(); }

  sim_executor home;
  sim_rail rail;
  node self;
  sim_datagram_port port;
  gossip::participant member;
  std::optional<follower> bond;
  stop_source stop;
  scope work;
  std::optional<status> gossip_ended;
};

struct servers {
  servers() {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < host_count; ++i) names.push_back(sim_network::address_of(i));
    shared = gossip::configuration::make(names, interval).value();
    for (std::uint32_t i = 0; i < host_count; ++i) all.push_back(boot(i, 1));
  }
  ~servers() {
    for (auto& each : all) end(each);
  }

  std::unique_ptr<server> boot(std::uint32_t i, std::uint64_t incarnation) {
    return std::make_unique<server>(world, network, datagrams, i, shared, incarnation);
  }
  void start_gossip() {
    for (auto& each : all) each->start_gossip();
  }
  void end(std::unique_ptr<server>& one) {
    if (one == nullptr) return;
    std::optional<ending> ended;
    one->home.enter([&] {
      one->stop.request_stop();
      one->work.spawn(one->shut_down(ended));
    });
    run_for(5s);
    REQUIRE(ended);
    REQUIRE(one->work.try_join());
    one.reset();
  }
  void run_for(nanoseconds d) { world.run_until(world.now() + d); }
  server& operator[](std::uint32_t i) { return *all[i]; }

  sim_world world{5, host_count};
  sim_network network{world, 4096};
  sim_datagrams datagrams{network};
  gossip::configuration_ptr shared;
  std::vector<std::unique_ptr<server>> all;
};

}  // namespace following
