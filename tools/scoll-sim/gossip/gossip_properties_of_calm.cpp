#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/gossip/gossip_properties.hpp"

namespace scoll::sim {

void gossip_properties::check_everybody(const char* property) {
  for (const gossip_life* by : lives_.present()) {
    if (!expected_to_agree(by)) continue;
    for (const gossip_life* of : lives_.present()) {
      if (expected_to_agree(of) && of != by) check_pair(*by, *of, property);
    }
  }
  if (environment_.weather.odd_one) check_odd_one();
}

void gossip_properties::check_pair(const gossip_life& by, const gossip_life& of, const char* property) {
  const bool alive = by.member.state(of.host) == gossip::liveness::alive;
  if (!alive || by.member.incarnation(of.host) != of.incarnation)
    environment_.violated(property, fmt::format("{} does not hold {} alive", by.name(), of.name()));
  if (by.views[of.host].incarnation != of.incarnation)
    environment_.violated("reboots are noticed", fmt::format("of {} by {}", of.name(), by.name()));
}

/// The participant has been told by name, and has stopped.
void gossip_properties::check_odd_one() {
  const gossip_life& l = *lives_.present()[environment_.hosts - 1];
  if (!l.ended || *l.ended || l.ended->error().code() != errc::wrong_cluster)
    environment_.violated("who disagrees stops", l.name());
}

void gossip_properties::check_death(std::uint32_t host) {
  for (const gossip_life* by : lives_.present()) {
    if (!expected_to_agree(by) || by->host == host) continue;
    if (by->member.state(host) == gossip::liveness::dead) continue;
    environment_.violated("a death is noticed by all in time",
                          fmt::format("of host {} by {}", host, by->name()));
  }
}

void gossip_properties::begin_dead_switch() {
  silent_cycles_.clear();
  for (const gossip_life* l : lives_.present())
    silent_cycles_.push_back(l == nullptr ? 0 : l->member.counts().cycles_without_reply);
}

void gossip_properties::check_dead_switch() {
  for (const gossip_life* l : lives_.present()) {
    if (!expected_to_agree(l)) continue;
    const std::uint64_t silent = l->member.counts().cycles_without_reply - silent_cycles_[l->host];
    // In the cycle in which the switch dies, a retry may go to the one that has stopped.
    if (silent > (environment_.weather.odd_one ? 1U : 0U))
      environment_.violated("a dead switch costs a retry",
                            fmt::format("{} had {} cycles without a reply", l->name(), silent));
  }
}

void gossip_properties::check_livelock() {
  if (environment_.world.livelocked() != environment_.hosts)
    environment_.violated("no livelock", "a host ran without end");
}

}  // namespace scoll::sim
