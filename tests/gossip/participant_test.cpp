#include "gossip/participant.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "gossip/event_queue.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "tests/transport/verbs/datagrams/ports.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/udp_port.hpp"
#include "transport/sim/sim_datagram.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::gossip;
using namespace scoll::transport;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// What carries the messages of a simulated cluster.
enum class carrier : std::uint8_t { udp, rdma };

carrier any_carrier() {
  return GENERATE(carrier::udp, carrier::rdma);
}

std::string address_by(carrier by, std::uint32_t index) {
  return by == carrier::udp ? sim_network::address_of(index) : ports::name_of_host(index);
}

/// A port of either kind, with what it stands on.
struct any_port {
  any_port(carrier by, sim_executor& home, sim_datagrams& network, fake_verbs& devices) {
    if (by == carrier::udp) {
      plain.emplace(network, home);
      return;
    }
    api = devices.api(home, home.host());
    under.emplace(network, home, home.host());
    rdma.emplace(home, *api, *under);
    REQUIRE(rdma->prepare(address_by(by, home.host())));
  }
  datagram_port& get() { return plain ? static_cast<datagram_port&>(*plain) : *rdma; }

  std::optional<sim_datagram_port> plain;
  std::shared_ptr<verbs_api> api;
  std::optional<fake_udp_port> under;
  std::optional<verbs_port> rdma;
};

/// One life of a host with a participant on it.
struct host final : event_listener {
  host(sim_world& world, carrier by, sim_datagrams& network, fake_verbs& devices, std::uint32_t index,
       configuration_ptr shared, std::uint64_t incarnation)
      : home(world, index, {}),
        own(by, home, network, devices),
        member(home, own.get(), std::move(shared), address_by(by, index), chosen(index, incarnation)),
        work(home) {
    member.subscribe(*this);
    home.enter([&] { work.spawn(take_part()); });
  }
  /// Over UDP it crashes. Hardware lets go of a port only in the world's time, so over RDMA it ends.
  ~host() {
    if (own.rdma) {
      home.enter([&] { stop.request_stop(); });
      for (int i = 0; i < 1000 && work.running() != 0; ++i)
        home.world().run_until(home.world().now() + milliseconds(1));
    } else {
      own.plain->crash();
      home.detach();
      stop.request_stop();
      static_cast<void>(home.run_isolated([&] { return work.running() == 0; }, 10'000));
    }
    static_cast<void>(work.try_join());
  }

  static options chosen(std::uint32_t index, std::uint64_t incarnation) {
    options o;
    o.seed = 100 + index;
    o.incarnation = incarnation;
    return o;
  }
  task<void> take_part() {
    status s = co_await gossip::run(member, stop.token());
    ended.emplace(s);
  }
  void on_liveness(const liveness_event& e) noexcept override { events.push_back(e); }

  sim_executor home;
  any_port own;
  participant member;
  stop_source stop;
  scope work;
  std::optional<status> ended;
  std::deque<liveness_event> events;
};

struct hosts {
  explicit hosts(std::uint32_t count, carrier carried_by = carrier::udp) : by(carried_by), world(5, count) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < count; ++i) names.push_back(address_by(by, i));
    shared = configuration::make(names, least_interval).value();
    network.common_path().model.latency = milliseconds(2);
    for (std::uint32_t i = 0; i < count; ++i) boot(i, 1);
  }
  void boot(std::uint32_t index, std::uint64_t incarnation) {
    if (all.size() <= index) all.resize(index + 1);
    all[index].reset();
    all[index] = std::make_unique<host>(world, by, datagrams, devices, index, shared, incarnation);
  }
  void run_for(nanoseconds d) { world.run_until(world.now() + d); }

  carrier by;
  sim_world world;
  sim_network network{world, 4096};
  sim_datagrams datagrams{network};
  fake_verbs devices{network};
  configuration_ptr shared;
  std::vector<std::unique_ptr<host>> all;
};

}  // namespace

TEST_CASE("participants start together, notice a death and a return, and end") {
  hosts h(12, any_carrier());
  h.run_for(seconds(2));
  for (const auto& one : h.all) CHECK(one->member.counts().messages_sent == 0);  // stealth
  h.run_for(seconds(4));
  for (const auto& one : h.all) {
    CHECK(one->events.size() == 11);
    CHECK(one->member.stage() == participation::active);
    one->events.clear();
  }
  h.all[4].reset();
  const std::uint32_t threshold = h.all[0]->member.threshold();
  h.run_for(least_interval * (threshold + 4));
  for (const auto& one : h.all) {
    if (!one) continue;
    REQUIRE(one->events.size() == 1);
    CHECK(one->events[0].kind == event_kind::dead);
    CHECK(one->events[0].who == 4);
    const verdict v = one->member.explain(4);
    CHECK(v.state == liveness::dead);
    CHECK(v.age_then > v.threshold_then);
    CHECK((v.last_direct == verdict::never || v.last_direct <= v.last_heard));
  }
  h.boot(4, 2);
  h.run_for(least_interval * (threshold + 3 + 12));
  for (const auto& one : h.all) {
    if (one == h.all[4]) continue;
    REQUIRE(one->events.size() == 2);
    CHECK(one->events[1].kind == event_kind::rebooted);
    CHECK(one->events[1].incarnation == 2);
    CHECK(one->events[1].aliveness == 1);
  }
  const snapshot s = h.all[0]->member.take_snapshot();
  CHECK(s.epoch == 13);
  CHECK(s.alive == 11);
  CHECK(s.members.size() == 12);
  CHECK(s.members[0].state == liveness::alive);
  h.all[0]->stop.request_stop();
  h.all[0]->home.touch();
  h.run_for(milliseconds(10));
  REQUIRE(h.all[0]->ended);
  CHECK(h.all[0]->ended->has_value());
  CHECK_FALSE(h.all[0]->own.get().open());
}

TEST_CASE("who waits for a participant to take part is told when it does, or that it will not") {
  hosts h(4, any_carrier());
  host& one = *h.all[0];
  host& two = *h.all[1];
  std::vector<status> told;
  const auto wait = [&told](participant& member, stop_token stop) -> task<void> {
    const status s = co_await gossip::active(member, stop);
    told.push_back(s);
  };
  two.home.enter([&] { two.work.spawn(wait(two.member, {})); });
  h.run_for(seconds(1));
  two.stop.request_stop();
  two.home.touch();
  h.run_for(milliseconds(10));
  REQUIRE(told.size() == 1);
  CHECK(told[0].error() == errc::closed);
  told.clear();
  stop_source impatient;
  one.home.enter([&] {
    one.work.spawn(wait(one.member, {}));
    one.work.spawn(wait(one.member, impatient.token()));
  });
  h.run_for(seconds(1));
  CHECK(told.empty());  // stealth
  impatient.request_stop();
  one.home.touch();
  h.run_for(milliseconds(10));
  REQUIRE(told.size() == 1);
  CHECK(told[0].error() == errc::cancelled);
  h.run_for(seconds(2));
  REQUIRE(told.size() == 2);
  CHECK(told[1].has_value());
  CHECK(one.member.stage() == participation::active);
  one.stop.request_stop();
  one.home.touch();
  h.run_for(milliseconds(10));
  one.home.enter([&] { one.work.spawn(wait(one.member, {})); });
  h.run_for(milliseconds(10));
  REQUIRE(told.size() == 3);
  CHECK(told[2].error() == errc::closed);
}

TEST_CASE("what a participant cannot start with is refused with the reason") {
  sim_world world(1, 2);
  sim_network network(world, 4096);
  sim_datagrams datagrams(network);
  const auto shared = configuration::make({"host:0", "host:1"}, least_interval).value();
  const auto refused = [&](const char* self, options o, configuration_ptr c) {
    sim_executor home(world, 0, {});
    sim_datagram_port port(datagrams, home);
    participant p(home, port, std::move(c), self, o);
    scope work(home);
    std::optional<status> ended;
    std::optional<status> took_part;
    const auto take_part = [&]() -> task<void> {
      status s = co_await gossip::run(p, {});
      ended.emplace(s);
    };
    const auto wait = [&]() -> task<void> {
      status s = co_await gossip::active(p, {});
      took_part.emplace(s);
    };
    home.enter([&] {
      work.spawn(wait());
      work.spawn(take_part());
    });
    world.run_until(world.now() + milliseconds(10));
    static_cast<void>(work.try_join());
    REQUIRE(took_part);
    CHECK(took_part->error() == errc::closed);
    REQUIRE(ended);
    REQUIRE_FALSE(ended->has_value());
    return ended->error().code();
  };
  const options good = host::chosen(0, 1);
  CHECK(refused("host:7", good, shared) == errc::invalid_argument);
  CHECK(refused("host:1", good, shared) == errc::invalid_argument);  // not the address of this port
  options o = good;
  o.incarnation = 0;
  CHECK(refused("host:0", o, shared) == errc::invalid_argument);
  o = good;
  o.most_message_bytes = 100;
  CHECK(refused("host:0", o, shared) == errc::invalid_argument);
  const auto odd = configuration::make({"host:0", "elsewhere"}, least_interval).value();
  CHECK(refused("host:0", good, odd) == errc::invalid_argument);
}

TEST_CASE("a running participant allocates nothing") {
  hosts h(16, any_carrier());
  h.run_for(seconds(h.by == carrier::udp ? 8 : 60));  // over RDMA, all have sent to all
  const std::size_t before = allocation_counter::on_this_thread();
  h.run_for(seconds(10));
  CHECK(allocation_counter::on_this_thread() == before);
}

TEST_CASE("an event queue hands changes on, and says when some were lost") {
  event_queue q(3);
  const auto change = [](std::uint64_t epoch) {
    liveness_event e;
    e.epoch = epoch;
    return e;
  };
  q.on_liveness(change(1));
  q.on_liveness(change(2));
  virtual_executor clock;
  const auto next = [&] { return sync_wait(clock, q.next({})); };
  CHECK(next()->epoch == 1);
  CHECK(next()->epoch == 2);
  for (std::uint64_t i = 3; i <= 7; ++i) q.on_liveness(change(i));
  CHECK(next().error() == errc::stale);
  CHECK(next()->epoch == 5);
  CHECK(q.size() == 2);
}

namespace {

/// Returns addresses of a host that are unused as far as the test can know.
std::vector<std::string> free_addresses(reactor& r, std::size_t count,
                                        const std::string& of_host = "127.0.0.1") {
  struct deaf final : datagram_events {
    void on_datagram(const datagram_address&, const buffer_view&) noexcept override {}
  } nobody_listens;
  std::vector<std::string> addresses;
  std::deque<udp_port> ports;
  for (std::size_t i = 0; i < count; ++i) {
    udp_port& p = ports.emplace_back(r);
    REQUIRE(p.bind(of_host + ":0", nobody_listens));
    addresses.push_back(p.bound_address());
  }
  for (udp_port& p : ports) p.close();
  on_reactor::turn_until(r, [&] {
    return std::none_of(ports.begin(), ports.end(), [](const udp_port& p) { return p.open(); });
  });
  return addresses;
}

task<void> take_part(participant& p, stop_token stop, int& ended) {
  const status s = co_await gossip::run(p, stop);
  ended += s.has_value() ? 1 : 100;
}

}  // namespace

TEST_CASE("participants find each other over UDP", "[reactor]") {
  const auto r = on_reactor::make();
  const auto addresses = free_addresses(*r, 4);
  const auto shared = configuration::make(addresses, least_interval).value();
  udp_options of_port;
  of_port.dscp = 48;
  std::deque<udp_port> ports;
  std::deque<participant> members;
  stop_source stop;
  scope work(*r);
  int ended = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    options o;
    o.incarnation = i + 1;
    o.stealth = false;
    members.emplace_back(*r, ports.emplace_back(*r, of_port), shared, addresses[i], o);
    work.spawn(take_part(members.back(), stop.token(), ended));
  }
  on_reactor::turn_until(*r, [&] {
    return std::all_of(members.begin(), members.end(), [](const participant& p) { return p.epoch() == 3; });
  });
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (const participant& p : members) CHECK(p.incarnation(*shared->index_of(addresses[i])) == i + 1);
  }
  stop.request_stop();
  on_reactor::turn_until(*r, [&] { return work.running() == 0; });
  static_cast<void>(work.try_join());
  CHECK(ended == 4);
}
