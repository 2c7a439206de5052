#include "gossip/event.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/gossip/gossip_properties.hpp"
#include "tools/scoll-sim/gossip/gossip_timing.hpp"

namespace scoll::sim {
namespace {

using gossip::liveness;
using gossip::liveness_event;
using kind = gossip::event_kind;

std::string text_of(const liveness_event& e, const gossip_life& by) {
  return fmt::format("{} of host {} life {} by {}", to_string(e.kind), e.who, e.incarnation, by.name());
}

}  // namespace

void gossip_properties::on_change(gossip_life& by, const liveness_event& e) {
  ++environment_.report.broadcasts;
  note_threshold(by);
  ++by.epoch;
  const change c{by, by.views[e.who], e, text_of(e, by)};
  check_epoch(c);
  check_incarnation(c);
  check_self(c);
  check_news(c);
  check_repetition(c);
  const gossip_life* const whom = lives_.find(e.who, e.incarnation);
  if (!check_whom(c, whom)) return;
  e.kind == kind::dead ? check_verdict(c, *whom) : check_revival(c);
  c.before.state = e.kind == kind::dead ? liveness::dead : liveness::alive;
  c.before.incarnation = e.incarnation;
}

void gossip_properties::check_epoch(const change& c) {
  if (c.event.epoch != c.by.epoch) environment_.violated("changes come in order", c.text);
}

void gossip_properties::check_incarnation(const change& c) {
  if (c.event.incarnation < c.before.incarnation) environment_.violated("lives go forward", c.text);
}

void gossip_properties::check_self(const change& c) {
  if (c.event.who == c.by.host) environment_.violated("nobody judges himself", c.text);
}

void gossip_properties::check_news(const change& c) {
  const bool first = c.before.incarnation == 0, same = c.before.incarnation == c.event.incarnation;
  const bool never_seen = c.event.kind == kind::rebooted && (first || same);
  const bool another = c.event.kind == kind::alive && !first && (!same || c.before.state == liveness::alive);
  if (never_seen || another) environment_.violated("a new life is told as rebooted", c.text);
}

void gossip_properties::check_repetition(const change& c) {
  const bool first = c.before.incarnation == 0, same = c.before.incarnation == c.event.incarnation;
  if (c.event.kind == kind::dead && !first && same && c.before.state == liveness::dead)
    environment_.violated("changes are changes", c.text);
}

/// False if the change is about nobody of whom the participant should tell.
bool gossip_properties::check_whom(const change& c, const gossip_life* whom) {
  if (whom == nullptr) {
    environment_.violated("only lives that were are told of", c.text);
    return false;
  }
  if (environment_.weather.odd(whom->host)) {
    environment_.violated("who disagrees is nobody's peer", c.text);
    return false;
  }
  return true;
}

void gossip_properties::check_verdict(const change& c, const gossip_life& whom) {
  const nanoseconds now = environment_.now();
  if (isolated_until(c.by.host) > now && now > gossip_faults_begin)
    return environment_.violated("who hears nobody judges nobody", c.text);
  if (whom.dead()) return;  // at least that life is
  // The cycles of a fast participant are shorter than those of the one that it judges.
  if (environment_.weather.too_fast(c.by.host)) return;
  const bool calm = environment_.weather.gentle || now < gossip_faults_begin || settled_;
  if (calm && !cut_off_lately(whom.host)) environment_.violated("no false verdict in calm", c.text);
}

bool gossip_properties::cut_off_lately(std::uint32_t host) const {
  const nanoseconds until = isolated_until(host);
  return until != nanoseconds(0) && environment_.now() < until + gossip_cycles(2 * environment_.threshold);
}

/// The life after the one that the change is about may be heard before the change.
void gossip_properties::check_revival(const change& c) {
  const nanoseconds bound = gossip_cycles((highest_threshold_ + 3) * 1.15 + 1);
  const nanoseconds now = environment_.now(), died = lives_.latest(c.event.who)->died;
  if (died == gossip_forever || now <= died + bound || !time_is_kept(died)) return;
  const auto ms = (now - died).count() / 1'000'000;
  environment_.violated("the dead stay dead", fmt::format("{}, which died {} ms before; clock {}", c.text, ms,
                                                          c.by.member.clock()));
}

}  // namespace scoll::sim
