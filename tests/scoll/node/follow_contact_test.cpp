#include <algorithm>
#include <iterator>

#include "following.hpp"
#include "scoll/ship/ship.hpp"
#include "transport/session/session.hpp"

// Verdicts of the gossip on nodes that this one is connected with.
using namespace following;

namespace {

constexpr node_id muted = 4;
constexpr std::uint32_t muted_host = 3;

/// No datagram of the last host gets through any more, while its connections do.
void lose_datagrams(servers& s) {
  for (std::uint32_t other = 0; other < host_count; ++other) {
    if (other == muted_host) continue;
    s.network.path(other, muted_host).loss_ppm = s.network.path(muted_host, other).loss_ppm = 1'000'000;
  }
}

bool dead_at(server& at, node_id node) {
  return scoll::detail::node_access::engine(at.self).lives().is_dead(node);
}

/// Broadcasts of the first host for a time. Returns how many had all answers.
std::uint32_t count_for(servers& s, const group<head_count>& g, nanoseconds time) {
  std::uint32_t complete = 0;
  for (const nanoseconds end = s.world.now() + time; s.world.now() < end;) {
    std::optional<ending> one;
    s[0].count_in_background(g, {.deadline = 1s}, one);
    s.run_for(100ms);
    complete += one && one->how.has_value() && one->value == host_count;
  }
  return complete;
}

struct connected final : servers {
  connected() {
    start_gossip();
    run_for(stealth_is_over);
    for (std::uint32_t i = 1; i < host_count; ++i) all[i]->everyone();
    everyone.emplace(all[0]->everyone());
    count_for(*this, *everyone, 1s);
    verdict_is_due = interval * static_cast<int>(all[0]->member.threshold() + 4);
  }
  ~connected() = default;

  std::optional<group<head_count>> everyone;
  nanoseconds verdict_is_due{};
};

}  // namespace

TEST_CASE("a peer whose datagrams are lost lives while it answers over its connections") {
  connected s;
  lose_datagrams(s);
  const auto rounds = static_cast<std::uint32_t>(3 * s.verdict_is_due / 100ms);
  CHECK(count_for(s, *s.everyone, 3 * s.verdict_is_due) >= rounds);
  CHECK_FALSE(dead_at(s[0], muted));
  CHECK(s[0].member.state(muted_host) == gossip::liveness::alive);
  CHECK(s[0].member.counts().heard_elsewhere > 0);
  // What the one has heard otherwise reaches those that are not connected with the muted one at all.
  for (const std::uint32_t i : {1U, 2U}) CHECK_FALSE(dead_at(s[i], muted));
}

TEST_CASE("an idle peer is asked over its connections before a verdict is believed") {
  connected s;
  lose_datagrams(s);
  s.run_for(3 * s.verdict_is_due);
  CHECK_FALSE(dead_at(s[0], muted));
  CHECK(s[0].member.counts().heard_elsewhere > 0);
}

TEST_CASE("a peer whose gossip has ended dies though it answers over its connections") {
  connected s;
  s[muted_host].home.enter([&] { s[muted_host].stop.request_stop(); });
  count_for(s, *s.everyone, s.verdict_is_due + 2 * interval + 1s);
  CHECK(dead_at(s[0], muted));
}

TEST_CASE("a peer that stands still dies two intervals after the verdict, though its connections stand") {
  connected s;
  REQUIRE(s[0].self.wire().find(muted)->connected(traffic_class::call));
  s[muted_host].home.stall_until(s.world.now() + 100s);
  s.run_for(s.verdict_is_due - 3 * interval);
  while (s[0].member.state(muted_host) != gossip::liveness::dead) s.run_for(10ms);
  const nanoseconds verdict = s.world.now();
  CHECK(s[0].bond->doubts_death_of(muted));
  CHECK_FALSE(dead_at(s[0], muted));
  while (!dead_at(s[0], muted)) s.run_for(10ms);
  CHECK(s.world.now() - verdict <= 2 * interval + 20ms);
  CHECK_FALSE(s[0].bond->doubts_death_of(muted));
  s.run_for(120s);
}

TEST_CASE("a verdict on a peer without a connection is carried out at once") {
  connected s;
  s.end(s.all[muted_host]);
  while (s[0].member.state(muted_host) != gossip::liveness::dead) s.run_for(10ms);
  CHECK(dead_at(s[0], muted));
  CHECK_FALSE(s[0].bond->doubts_death_of(muted));
}

TEST_CASE("a node follows a gossip whose participants have the ids of the nodes") {
  servers s;
  s[0].home.enter([&] {
    const auto bond = follow(s[0].self, s[0].member);
    REQUIRE(bond.has_value());
    for (std::uint32_t i = 0; i < host_count; ++i) CHECK(bond->node_of(i) == i + 1);
  });
  s.end(s.all[1]);
  server other(s.world, s.network, s.datagrams, 1, s.shared, 1, 9);
  other.home.enter([&] {
    const auto bond = follow(other.self, other.member);
    REQUIRE_FALSE(bond.has_value());
    CHECK_THAT(std::string(bond.error().text()), Contains("own address is not listed with node 9"));
  });
}

TEST_CASE("the journal names a participant that has another configuration") {
  servers s;
  s.start_gossip();
  s.run_for(stealth_is_over);
  s.end(s.all[muted_host]);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < host_count; ++i) names.push_back(sim_network::address_of(i));
  s.shared = gossip::configuration::make(names, 2 * interval).value();
  s.all[muted_host] = s.boot(muted_host, 2);
  s[muted_host].start_gossip();
  s.run_for(20s);
  const auto told = [](server& at) {
    std::vector<std::string> texts;
    for (const node_event& e : at.self.events(0)) {
      if (e.kind == node_event_kind::gossip_disagrees) texts.push_back(e.text);
    }
    return texts;
  };
  // It stops before it has asked everybody.
  std::vector<std::string> here;
  for (std::uint32_t i = 0; i < muted_host; ++i) std::ranges::copy(told(s[i]), std::back_inserter(here));
  const auto there = told(s[muted_host]);
  REQUIRE_FALSE(here.empty());
  REQUIRE_FALSE(there.empty());
  CHECK_THAT(here[0], Contains("node 4") && Contains("configuration: interval"));
  CHECK(here.size() <= 3);
  CHECK_THAT(there[0], Contains("configuration: interval"));
}
