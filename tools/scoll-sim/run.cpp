#include "tools/scoll-sim/run.hpp"

#include <algorithm>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/exhaust/agree_check.hpp"
#include "tools/scoll-sim/exhaust/group_ends.hpp"
#include "tools/scoll-sim/exhaust/groups_check.hpp"
#include "tools/scoll-sim/exhaust/revoke_engine.hpp"
#include "tools/scoll-sim/exhaust/revoke_graph.hpp"
#include "tools/scoll-sim/gossip/gossip_swarm.hpp"
#include "tools/scoll-sim/rails/rails_swarm.hpp"

namespace scoll::sim {
namespace {

using std::chrono::seconds;

constexpr nanoseconds settling = seconds(20);  // longer than any bound, grace, lease, retry and keep-alive
constexpr nanoseconds roll_call = seconds(8);
constexpr nanoseconds farewell = seconds(60);  // shutdowns run in sequence, some with members that are down
constexpr nanoseconds ending = seconds(12);
constexpr nanoseconds last_questions = seconds(3);  // longer than a grace

std::string_view to_string(testing::sim_trace kind) {
  using enum testing::sim_trace;
  switch (kind) {
    case turn: return "turn";
    case delivery: return "delivery";
    case connection: return "connection";
    case broken: return "broken";
    case note: return "note";
    case datagram: return "datagram";
    case lost: return "lost";
  }
  return "?";
}

std::string last_events(cluster& c) {
  std::string text;
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    text += fmt::format("host {}{}:\n", host, c.alive(host) == nullptr ? " (down)" : "");
    for (const testing::sim_record& r : c.world().latest(host)) {
      text += fmt::format("  {:>12} us  {:<10} {:#x} {:#x}\n", r.at.count() / 1000, to_string(r.kind),
                          r.first, r.second);
    }
  }
  return text;
}

/// Carries out the events at their times.
void play(cluster& c, const plan& p, violations& found) {
  for (const plan_event& e : p.events) {
    c.world().run_until(e.at);
    c.carry_out(e);
    if (found.empty()) check_bounds(c, found);
    if (found.empty()) check_call_bounds(c, found);
    if (found.empty()) check_admissions(c, found);
    if (found.empty()) check_guards(c, found);
    if (found.empty()) check_revokes_are_prompt(c, found);
  }
}

/// Lets all activity come to its end. Nodes ask about their groups for ever, so they stop that for a while.
void settle(cluster& c, nanoseconds d) {
  c.let_nodes_ask(true);
  c.world().run_until(std::max(c.world().now(), c.stalled_until()) + d);
  c.let_nodes_ask(false);
  c.world().run_until(c.world().now() + last_questions);
}

void check_at_rest(cluster& c, violations& found) {
  check_settled(c, found);
  check_calls_settled(c, found);
  check_rights_settled(c, found);
  check_guards(c, found);
  check_keys(c, found);
  check_freights_settled(c, found);
  check_groups_settled(c, found);
  check_admissions_settled(c, found);
  check_revokes_settled(c, found);
}

void check_outcomes(cluster& c, violations& found) {
  check_broadcasts(c, found);
  check_calls(c, found);
  check_silence(c, found);
  check_hauls(c, found);
  check_rights(c, found);
  check_freights(c, found);
  check_agreements(c, found);
  check_revokes(c, found);
}

void count(cluster& c, const plan& p, run_report& report) {
  report.trace_hash = c.world().trace_hash();
  report.events = c.world().events();
  report.bytes = c.bytes_carried();
  report.faults = static_cast<std::uint64_t>(
      std::count_if(p.events.begin(), p.events.end(), [](const plan_event& e) { return is_fault(e.what); }));
  report.lives = c.all_lives().size();
  report.groups = static_cast<std::uint64_t>(std::count_if(
      c.groups().begin(), c.groups().end(), [](const auto& g) { return g.second.id.has_value(); }));
  c.note_end();
  report.seen = c.seen();
  for (const auto& [number, b] : c.broadcasts()) {
    ++report.broadcasts;
    if (!b.done || b.ended_by_crash) continue;
    report.clean += b.outcome_status.has_value();
    for (std::size_t s = 0; s < report.members.size(); ++s)
      report.members[s] += b.account.count(static_cast<member_state>(s));
  }
}

}  // namespace

void run_report::add(const run_report& other) {
  events += other.events;
  bytes += other.bytes;
  broadcasts += other.broadcasts;
  clean += other.clean;
  faults += other.faults;
  groups += other.groups;
  lives += other.lives;
  seen.add(other.seen);
  for (std::size_t s = 0; s < members.size(); ++s) members[s] += other.members[s];
}

namespace {

std::vector<exhausted> small_groups() {
  std::vector<exhausted> parts = tell_of_group_ends();
  parts.push_back(kill_at_each_step(knomial{2}, 3));
  return parts;
}

run_report run_exhaust(const std::vector<exhausted>& parts) {
  run_report report;
  for (const exhausted& part : parts) {
    report.events += part.cases;
    if (!part.violation.empty()) report.found.push_back({part.violation, part.part});
  }
  return report;
}

}  // namespace

run_report run(const plan& p, testing::sim_world::observer observer) {
  if (p.work == workload::gossip) return run_gossip(p, observer);
  if (p.work == workload::rails || p.work == workload::verbs) return run_rails(p, observer);
  if (p.work == workload::agree) return run_exhaust(exhaust_agree_briefly());
  if (p.work == workload::revoke)
    return run_exhaust({flood_with_equal_views(8), kill_at_each_notice(5, 1), revoke_beside_calls(5),
                        revoke_unknown_groups(4, 31)});
  if (p.work == workload::groups) return run_exhaust(small_groups());
  run_report report;
  // Objects that were not destroyed in order are left as they are: a broken run is examined, not cleaned up.
  auto* const c = new cluster(p);
  c->world().observe(observer);
  play(*c, p, report.found);
  c->heal();
  settle(*c, c->has_gossip() ? 2 * settling : settling);
  check_outcomes(*c, report.found);
  check_incarnations(*c, report.found);
  check_at_rest(*c, report.found);
  check_liveness_settled(*c, report.found);
  if (report.found.empty()) {
    c->begin_knocking();
    settle(*c, roll_call);
    c->begin_roll_call();
    settle(*c, roll_call);
    check_roll_call(*c, report.found);
    check_call_roll_call(*c, report.found);
    check_at_rest(*c, report.found);
  }
  if (report.found.empty()) {
    c->begin_farewell();
    settle(*c, farewell);
    // A member that destroys a group tells the outcome of its shrink first, so that further groups may be
    // found.
    if (c->find_shrunk_groups()) {
      c->begin_farewell();
      settle(*c, farewell);
    }
    check_farewell(*c, report.found);
    check_at_rest(*c, report.found);
  }
  if (report.found.empty()) {
    c->begin_shutdown();
    settle(*c, ending);
    c->bury_the_dead();
    check_outcomes(*c, report.found);
    check_shutdown(*c, report.found);
  }
  count(*c, p, report);
  if (report.found.empty()) {
    delete c;
  } else {
    report.last_events = last_events(*c);
  }
  return report;
}

}  // namespace scoll::sim
