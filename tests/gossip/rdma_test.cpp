#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gossip/participant.hpp"
#include "scoll/coro/scope.hpp"
#include "tests/catch.hpp"
#include "tests/support/world.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "tests/transport/verbs/datagrams/ports.hpp"
#include "transport/io/udp_port.hpp"
#ifdef SCOLL_HAS_VERBS
#include "transport/verbs/ibverbs.hpp"
#endif

using namespace scoll;
using namespace scoll::gossip;
using namespace scoll::transport;
using namespace std::chrono_literals;

// Gossip over unreliable datagrams of RDMA, with fake devices and with those of this machine.

namespace {

constexpr std::uint32_t member_count = 4;

/// A port for datagrams over RDMA, with what it stands on.
struct port_of_host {
  std::shared_ptr<verbs_api> api;
  std::unique_ptr<datagram_port> under;
  std::unique_ptr<verbs_port> port;
};

class rdma_ports {
 public:
  virtual ~rdma_ports() = default;
  virtual executor& ex() = 0;
  virtual std::string name(std::uint32_t host) = 0;
  virtual port_of_host make(std::uint32_t host) = 0;
  virtual bool until(const std::function<bool()>& done) = 0;
};

class fake_ports final : public rdma_ports {
 public:
  executor& ex() override { return h_.clock; }
  std::string name(std::uint32_t host) override { return ports::name_of_host(host); }
  port_of_host make(std::uint32_t host) override {
    port_of_host p;
    p.api = h_.devices.api(h_.clock, host);
    p.under = std::make_unique<scoll::testing::fake_udp_port>(h_.udp, h_.clock, host);
    p.port = std::make_unique<verbs_port>(h_.clock, *p.api, *p.under);
    return p;
  }
  bool until(const std::function<bool()>& done) override {
    for (int i = 0; i < 60'000 && !done(); ++i) h_.clock.run_for(1ms);
    return done();
  }
  ports::fake_hosts& network() { return h_; }

 private:
  ports::fake_hosts h_;
};

/// One member of the gossip, which can be ended and started anew.
class rdma_member final : public event_listener {
 public:
  rdma_member(rdma_ports& all, configuration_ptr shared, std::uint32_t host, std::uint64_t incarnation)
      : all_(all), own_(all.make(host)), work_(all.ex()) {
    REQUIRE(own_.port->prepare(all.name(host)));
    options o;
    o.seed = 100 + host;
    o.incarnation = incarnation;
    o.stealth = false;
    participant_.emplace(all.ex(), *own_.port, std::move(shared), all.name(host), o);
    participant_->subscribe(*this);
    work_.spawn(take_part());
  }
  ~rdma_member() {
    stop_.request_stop();
    CHECK(all_.until([&] { return work_.running() == 0; }));
    static_cast<void>(work_.try_join());
    CHECK(ended_.has_value());
  }
  rdma_member(const rdma_member&) = delete;
  rdma_member& operator=(const rdma_member&) = delete;

  participant& gossip() { return *participant_; }
  verbs_port& port() { return *own_.port; }

  std::vector<liveness_event> events;

 private:
  task<void> take_part() {
    const status s = co_await gossip::run(*participant_, stop_.token());
    ended_ = s;
  }
  void on_liveness(const liveness_event& e) noexcept override { events.push_back(e); }

  rdma_ports& all_;
  port_of_host own_;
  std::optional<participant> participant_;
  stop_source stop_;
  scope work_;
  status ended_;
};

struct rdma_cluster {
  explicit rdma_cluster(rdma_ports& p) : all(p) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < member_count; ++i) names.push_back(p.name(i + 1));
    shared = configuration::make(names, least_interval).value();
    for (std::uint32_t i = 0; i < member_count; ++i) start(i, 1);
  }
  void start(std::uint32_t index, std::uint64_t incarnation) {
    if (members.size() <= index) members.resize(index + 1);
    members[index].reset();
    members[index] = std::make_unique<rdma_member>(all, shared, index + 1, incarnation);
  }
  bool all_know_each_other() {
    return std::all_of(members.begin(), members.end(),
                       [](const auto& m) { return m->gossip().epoch() >= member_count - 1; });
  }
  bool others_have_news(std::uint32_t than) {
    for (std::uint32_t i = 0; i < member_count; ++i) {
      if (i != than && members[i]->events.empty()) return false;
    }
    return true;
  }

  rdma_ports& all;
  configuration_ptr shared;
  std::vector<std::unique_ptr<rdma_member>> members;
};

/// Starts one of four participants anew, with another queue pair, while the others go on.
void check_restart(rdma_cluster& c) {
  REQUIRE(c.all.until([&] { return c.all_know_each_other(); }));
  const auto restarted = *c.shared->index_of(c.all.name(2));
  for (auto& m : c.members) m->events.clear();
  c.start(1, 2);
  REQUIRE(c.all.until([&] { return c.others_have_news(1) && c.all_know_each_other(); }));
  const std::uint64_t until = c.members[0]->gossip().counts().cycles + 20;
  REQUIRE(c.all.until([&] { return c.members[0]->gossip().counts().cycles >= until; }));
  for (std::uint32_t i = 0; i < member_count; ++i) {
    const auto& m = *c.members[i];
    INFO("member " << i + 1);
    if (i == 1) {
      CHECK(m.events.size() == member_count - 1);  // it learns of the others
      continue;
    }
    REQUIRE(m.events.size() == 1);
    CHECK(m.events[0].kind == event_kind::rebooted);
    CHECK(m.events[0].who == restarted);
    CHECK(m.events[0].incarnation == 2);
  }
  for (auto& m : c.members) {
    const verbs_port_statistics seen = m->port().verbs_statistics();
    CHECK(seen.forged == 0);
    CHECK(seen.unproven == 0);
    CHECK(seen.malformed == 0);
    CHECK(seen.device_failures == 0);
    CHECK(m->gossip().counts().dead_events == 0);
    CHECK(m->gossip().counts().malformed == 0);
    CHECK(m->gossip().counts().unknown_address == 0);
  }
}

}  // namespace

TEST_CASE(
    "participants over RDMA see one that is restarted with another queue pair, and nobody else is touched") {
  fake_ports all;
  rdma_cluster c(all);
  check_restart(c);
  c.members.clear();
}

TEST_CASE("participants over RDMA notice that one is gone, and that its device is back") {
  fake_ports all;
  rdma_cluster c(all);
  REQUIRE(all.until([&] { return c.all_know_each_other(); }));
  for (auto& m : c.members) m->events.clear();
  all.network().devices.set_port(3, false);
  all.network().devices.fail_device(3);
  REQUIRE(all.until([&] { return c.others_have_news(2); }));
  for (const std::size_t i : {0U, 1U, 3U}) {
    REQUIRE(c.members[i]->events.size() == 1);
    CHECK(c.members[i]->events[0].kind == event_kind::dead);
    c.members[i]->events.clear();
  }
  all.network().devices.set_port(3, true);
  REQUIRE(all.until([&] { return c.others_have_news(2); }));
  for (const std::size_t i : {0U, 1U, 3U}) {
    REQUIRE(c.members[i]->events.size() == 1);
    CHECK(c.members[i]->events[0].kind != event_kind::dead);
    CHECK(c.members[i]->events[0].incarnation == 1);
  }
  c.members.clear();
}

TEST_CASE("participants over RDMA bear loss, repetition and disorder") {
  fake_ports all;
  all.network().net.common_path().loss_ppm = 50'000;
  all.network().net.common_path().duplicate_ppm = 50'000;
  all.network().net.common_path().reorder_ppm = 100'000;
  rdma_cluster c(all);
  check_restart(c);
  c.members.clear();
}

TEST_CASE("a participant over RDMA and one over UDP disagree about the participants, and say so") {
  fake_ports all;
  const auto by_rdma = configuration::make({all.name(1), all.name(2)}, least_interval).value();
  const auto by_udp =
      configuration::make({all.name(1).substr(8), all.name(2).substr(8)}, least_interval).value();
  CHECK(by_rdma->digest() != by_udp->digest());
}

#ifdef SCOLL_HAS_VERBS
namespace {

/// The devices of this machine.
class rxe_ports final : public rdma_ports {
 public:
  executor& ex() override { return *loop_; }
  std::string name(std::uint32_t host) override {
    const auto& all = scoll::test::rxe_world::devices();
    return "verbs://" + all[(host - 1) % all.size()].second + ":" + std::to_string(first_port + host);
  }
  port_of_host make(std::uint32_t host) override {
    const auto& all = scoll::test::rxe_world::devices();
    verbs_port_options own;
    own.device = all[(host - 1) % all.size()].first;
    port_of_host p;
    p.api = use_ibverbs(*loop_);
    p.under = std::make_unique<udp_port>(*loop_);
    p.port = std::make_unique<verbs_port>(*loop_, *p.api, *p.under, own);
    return p;
  }
  bool until(const std::function<bool()>& done) override {
    const auto end = std::chrono::steady_clock::now() + 60s;
    while (!done() && std::chrono::steady_clock::now() < end) loop_->run_once(10ms);
    return done();
  }

 private:
  static constexpr std::uint32_t first_port = 7100;
  std::unique_ptr<reactor> loop_ = on_reactor::make();
};

}  // namespace

// It needs RDMA devices, which the environment must name, so it is hidden from runs without them.
TEST_CASE("participants over the RDMA devices of this machine see that one is restarted", "[.][rxe]") {
  REQUIRE_FALSE(scoll::test::rxe_world::devices().empty());
  rxe_ports all;
  rdma_cluster c(all);
  check_restart(c);
  c.members.clear();
}
#endif
