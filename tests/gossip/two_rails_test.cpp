#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "gossip/participant.hpp"
#include "scoll/coro/scope.hpp"
#include "tests/catch.hpp"
#include "tests/gossip/cores.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/udp_port.hpp"

using namespace scoll;
using namespace scoll::gossip;
using namespace scoll::transport;
using std::chrono::milliseconds;

// Participants on two networks of this host: 127.0.0.1 and 127.0.0.2.

namespace {

constexpr std::uint32_t hosts = 4;
constexpr std::uint32_t rails = 2;

struct deaf final : datagram_events {
  void on_datagram(const datagram_address&, const buffer_view&) noexcept override {}
};

/// A UDP port that can lose its cable.
class cable final : public datagram_port, private datagram_events {
 public:
  explicit cable(reactor& r) : port_(r, with_device()) {}

  static udp_options with_device() {
    udp_options o;
    o.device = "lo";
    return o;
  }
  status bind(const std::string& address, datagram_events& events) noexcept override {
    events_ = &events;
    return port_.bind(address, *this);
  }
  std::string bound_address() const override { return port_.bound_address(); }
  result<datagram_address> parse(std::string_view text) const override { return port_.parse(text); }
  std::string print(const datagram_address& address) const override { return port_.print(address); }
  std::size_t max_datagram_bytes() const noexcept override { return port_.max_datagram_bytes(); }
  status send(const datagram_address& to, std::span<const std::byte> sent) noexcept override {
    return cut ? status() : port_.send(to, sent);
  }
  void close() noexcept override { port_.close(); }
  bool open() const noexcept override { return port_.open(); }
  datagram_statistics statistics() const noexcept override { return port_.statistics(); }

  bool cut = false;

 private:
  void on_datagram(const datagram_address& source, const buffer_view& heard) noexcept override {
    if (!cut) events_->on_datagram(source, heard);
  }

  udp_port port_;
  datagram_events* events_ = nullptr;
};

std::string free_address(reactor& r, const std::string& host) {
  deaf nobody_listens;
  udp_port p(r);
  REQUIRE(p.bind(host + ":0", nobody_listens));
  std::string address = p.bound_address();
  p.close();
  on_reactor::turn_until(r, [&] { return !p.open(); });
  return address;
}

task<void> take_part(participant& p, stop_token stop, std::vector<status>& ended) {
  const status s = co_await gossip::run(p, stop);
  ended.push_back(s);
}

/// All participants of a cluster, each with a port on both networks.
struct on_two_networks {
  on_two_networks() : loop(on_reactor::make()), work(*loop) {
    std::vector<participant_entry> entries;
    for (std::uint32_t i = 0; i < hosts; ++i)
      entries.push_back({10 + i, {free_address(*loop, "127.0.0.1"), free_address(*loop, "127.0.0.2")}});
    shared = configuration::of_entries(std::move(entries), least_interval).value();
    for (std::uint32_t i = 0; i < hosts; ++i) {
      std::vector<datagram_port*> own;
      for (std::uint32_t r = 0; r < rails; ++r) own.push_back(&cables.emplace_back(*loop));
      options o;
      o.incarnation = i + 1;
      o.stealth = false;
      members.emplace_back(*loop, std::move(own), shared, participant_id{10 + i}, o);
      work.spawn(take_part(members.back(), stop.token(), ended));
    }
  }
  ~on_two_networks() {
    stop.request_stop();
    on_reactor::turn_until(*loop, [&] { return work.running() == 0; });
    static_cast<void>(work.try_join());
  }

  cable& cable_of(std::uint32_t host, std::uint32_t rail) { return cables[host * rails + rail]; }
  void run_for(std::uint64_t cycles) {
    const std::uint64_t until = members[0].counts().cycles + cycles;
    on_reactor::turn_until(*loop, [&] { return members[0].counts().cycles >= until; });
  }
  void wait_until_all_know_each_other() {
    on_reactor::turn_until(*loop, [&] {
      return std::all_of(members.begin(), members.end(),
                         [](const participant& p) { return p.epoch() == hosts - 1; });
    });
  }

  std::unique_ptr<reactor> loop;
  configuration_ptr shared;
  std::deque<cable> cables;
  std::deque<participant> members;
  stop_source stop;
  scope work;
  std::vector<status> ended;
};

}  // namespace

TEST_CASE("participants on two networks find each other, and nobody misses the one that fails", "[reactor]") {
  on_two_networks c;
  c.wait_until_all_know_each_other();
  for (std::uint32_t i = 0; i < hosts; ++i) c.cable_of(i, 0).cut = true;
  c.run_for(4);  // finding out
  std::vector<std::uint64_t> silent;
  for (const participant& p : c.members) silent.push_back(p.counts().cycles_without_reply);
  c.run_for(16);  // more than a threshold
  for (std::uint32_t i = 0; i < hosts; ++i) {
    const participant& p = c.members[i];
    CHECK(p.counts().dead_events == 0);
    CHECK(p.counts().cycles_without_reply <= silent[i] + 1);  // this machine may be busy
    CHECK(p.counts().malformed == 0);
    CHECK(p.counts().unknown_address == 0);
    CHECK(p.take_snapshot().rail == 1);
    CHECK(p.take_snapshot().alive == hosts - 1);
  }
  const std::size_t before = allocation_counter::on_this_thread();
  c.run_for(4);
  CHECK(allocation_counter::on_this_thread() == before);
}

TEST_CASE("a datagram from a socket that is no participant's is a stranger's", "[reactor]") {
  on_two_networks c;
  c.wait_until_all_know_each_other();
  deaf nobody_listens;
  udp_port stranger(*c.loop);
  REQUIRE(stranger.bind("127.0.0.2:0", nobody_listens));
  const auto target = stranger.parse(c.shared->addresses(0)[1]).value();
  const auto merged = c.members[0].counts().merged;
  const auto forged = cores::message(*c.shared, 0, cores::head(1, 1000, 5, 9), {0, 0, 0, 0});
  REQUIRE(stranger.send(target, forged));
  on_reactor::turn_until(*c.loop, [&] { return c.members[0].counts().unknown_address == 1; });
  CHECK(c.members[0].incarnation(1) == 2);
  CHECK(merged <= c.members[0].counts().merged);
  stranger.close();
  on_reactor::turn_until(*c.loop, [&] { return !stranger.open(); });
}

TEST_CASE("a participant that is heard otherwise, by its id", "[reactor]") {
  on_two_networks c;
  c.wait_until_all_know_each_other();
  c.members[0].heard(12, 3);
  CHECK(c.members[0].counts().heard_elsewhere == 1);
  c.members[0].heard(12, 77);
  CHECK(c.members[0].incarnation(2) == 77);
  c.members[0].heard(99, 1);
  c.members[0].heard(10, 1);
  CHECK(c.members[0].counts().heard_elsewhere == 2);
}

TEST_CASE("a participant needs a port for each of its addresses, and ends with those that it has bound") {
  const auto r = on_reactor::make();
  const auto shared =
      configuration::of_entries({{1, {free_address(*r, "127.0.0.1"), free_address(*r, "127.0.0.2")}},
                                 {2, {"127.0.0.1:1", "127.0.0.2:1"}}},
                                least_interval)
          .value();
  options o;
  o.incarnation = 1;
  const auto refusal_of = [&](std::vector<datagram_port*> ports, participant_id self) {
    participant p(*r, std::move(ports), shared, self, o);
    std::vector<status> ended;
    scope work(*r);
    work.spawn(take_part(p, {}, ended));
    on_reactor::turn_until(*r, [&] { return work.running() == 0; });
    static_cast<void>(work.try_join());
    REQUIRE(ended.size() == 1);
    REQUIRE_FALSE(ended[0].has_value());
    return std::string(ended[0].error().text());
  };
  udp_port one(*r), two(*r);
  CHECK(refusal_of({&one}, 1) ==
        "gossip: participant 1 has 2 addresses and 1 ports: it needs one port for each address");
  CHECK(refusal_of({&one, &two}, 7) == "gossip: participant 7 is not in the list of participants");
  deaf other_owner;
  REQUIRE(two.bind(shared->addresses(0)[1], other_owner));
  CHECK(refusal_of({&one, &two}, 1) == "this port is already bound");
  CHECK_FALSE(one.open());
  CHECK(two.open());  // it belongs to another owner
  two.close();
  on_reactor::turn_until(*r, [&] { return !two.open(); });
}
