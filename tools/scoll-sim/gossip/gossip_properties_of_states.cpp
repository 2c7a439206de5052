#include <algorithm>
#include <chrono>

#include "gossip/verdict.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/gossip/gossip_properties.hpp"
#include "tools/scoll-sim/gossip/gossip_timing.hpp"

namespace scoll::sim {
namespace {

using std::chrono::seconds;

constexpr nanoseconds first_starts = seconds(2);

}  // namespace

void gossip_properties::check_states() {
  for (const gossip_life* l : lives_.present()) {
    if (l == nullptr) continue;
    note_threshold(*l);
    check_end(*l);
    check_stealth(*l);
    check_clock(*l);
    for (std::uint32_t i = 0; i < environment_.hosts; ++i) check_reach(*l, i);
  }
}

void gossip_properties::note_threshold(const gossip_life& l) {
  highest_threshold_ = std::max(highest_threshold_, l.member.threshold());
}

void gossip_properties::check_end(const gossip_life& l) {
  if (!l.ended || environment_.weather.odd(l.host)) return;
  const std::string how = *l.ended ? "stopped" : describe(l.ended->error());
  environment_.violated("nobody stops by itself", fmt::format("{}: {}", l.name(), how));
}

/// A participant that restarts quickly sends nothing while others may still hold its earlier life to be
/// alive. A participant that was cut off has not heard that either, and may send.
void gossip_properties::check_stealth(const gossip_life& l) {
  if (l.member.counts().messages_sent == 0 || may_have_missed_much(l.host)) return;
  if (!l.active() || l.member.counts().cycles > environment_.threshold / 2) return;
  const gossip_life* const before = lives_.before(l);
  const bool too_early = before == nullptr ? l.born < first_starts : may_be_held_alive(*before, l.born);
  if (too_early) environment_.violated("a start is silent", l.name());
}

/// True if the host is or was cut off, or may have heard from a participant that is cut off or was until
/// lately.
bool gossip_properties::may_have_missed_much(std::uint32_t host) const {
  if (environment_.weather.partitions || isolated_until(host) > gossip_faults_begin) return true;
  const auto cut_off = [&](nanoseconds until) {
    return until > gossip_faults_begin && environment_.now() < until + gossip_cycles(environment_.threshold);
  };
  const auto all = faults_.isolated_until();
  return std::any_of(all.begin(), all.end(), cut_off);
}

/// True if other participants held the life `before` alive when the next one was born, and may still do so.
bool gossip_properties::may_be_held_alive(const gossip_life& before, nanoseconds born) const {
  if (before.stalled_until >= before.died) return false;  // it was silent before it died
  if (!time_is_kept(before.died)) return false;           // no participant knows for how long it has been
  const double early = environment_.weather.fast ? 0.5 : 0.8;  // of a threshold, for the fastest of others
  return born - before.died < gossip_cycles(environment_.threshold * 0.5) &&
         environment_.now() - before.died < gossip_cycles(environment_.threshold * early);
}

/// True if some participant has taken part ever since, and neither stood still nor was cut off. Otherwise
/// the cluster clock has stood still as well, or begun anew, and a late message may know more than all live
/// participants.
bool gossip_properties::time_is_kept(nanoseconds since) const {
  const auto present = lives_.present();
  const nanoseconds stealth = gossip_cycles(environment_.threshold + gossip_stealth_beyond);
  return std::any_of(present.begin(), present.end(), [&](const gossip_life* l) {
    return expected_to_agree(l) && l->active() && l->born + stealth <= since && l->stalled_until <= since &&
           isolated_until(l->host) <= since;
  });
}

/// The cycles are those of the cluster: a participant that is too fast drives no other.
void gossip_properties::check_clock(const gossip_life& l) {
  if (environment_.weather.too_fast(l.host)) return;
  const double passed = in_gossip_cycles(environment_.now());
  if (static_cast<double>(l.member.clock()) <= passed * 1.13 + 10) return;
  environment_.violated("the cluster clock keeps its pace",
                        fmt::format("{}: {} after {:.0f} intervals", l.name(), l.member.clock(), passed));
}

/// Messages that were under way when a participant died do not make it reachable.
void gossip_properties::check_reach(const gossip_life& l, std::uint32_t host) {
  const gossip_life* const gone = lives_.latest(host);
  if (gone == nullptr || !gone->dead() || may_be_reached_by(l, *gone)) return;
  const gossip::verdict v = l.member.explain(host);
  if (v.last_tried == gossip::verdict::never || v.reach == gossip::reachability::unreachable) return;
  const double tried_ago = static_cast<double>(l.member.clock() - v.last_tried);
  const double dead_for = in_gossip_cycles(environment_.now() - gone->died);
  if (tried_ago * 1.2 + cycles_to_reach() >= dead_for) return;
  environment_.violated("the dead are not reached",
                        fmt::format("{} reaches host {}, dead for {:.0f} cycles", l.name(), host, dead_for));
}

/// True if `gone` died only lately, or if `l` has not taken part without a stall ever since.
bool gossip_properties::may_be_reached_by(const gossip_life& l, const gossip_life& gone) const {
  const nanoseconds since = environment_.now() - gone.died;
  return since < gossip_cycles(2 * cycles_to_reach()) || l.born >= gone.died || l.stalled_until > gone.died;
}

}  // namespace scoll::sim
