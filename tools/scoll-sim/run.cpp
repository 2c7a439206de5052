#include "run.hpp"

#include <algorithm>

#include "bulk_outage.hpp"
#include "cluster.hpp"
#include "errand_properties.hpp"
#include "gossip_swarm.hpp"
#include "scoll/coro/error_format.hpp"

namespace scoll::sim {
namespace {

using std::chrono::seconds;

constexpr nanoseconds settling = seconds(20);  // longer than any bound, grace, lease, retry and keep-alive
constexpr nanoseconds roll_call = seconds(8);
constexpr nanoseconds farewell = seconds(60);  // shutdowns run in sequence, some with members that are down
constexpr nanoseconds ending = seconds(12);

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
    if (found.empty()) check_errand_bounds(c, found);
  }
}

void settle(cluster& c, nanoseconds d) {
  c.world().run_until(std::max(c.world().now(), c.stalled_until()) + d);
}

void count(cluster& c, const plan& p, run_report& report) {
  report.trace_hash = c.world().trace_hash();
  report.events = c.world().events();
  report.bytes = c.bytes_carried();
  report.faults = static_cast<std::uint64_t>(
      std::count_if(p.events.begin(), p.events.end(), [](const plan_event& e) { return is_fault(e.kind); }));
  report.lives = c.all_lives().size();
  report.groups = static_cast<std::uint64_t>(std::count_if(
      c.groups().begin(), c.groups().end(), [](const auto& g) { return g.second.id.has_value(); }));
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
  for (std::size_t s = 0; s < members.size(); ++s) members[s] += other.members[s];
}

run_report run(const plan& p, testing::sim_world::observer observer) {
  if (p.work == workload::gossip) return run_gossip(p, observer);
  run_report report;
  // Objects that were not destroyed in order are left as they are: a broken run is examined, not cleaned up.
  auto* const c = new cluster(p);
  c->world().observe(observer);
  play(*c, p, report.found);
  c->heal();
  settle(*c, settling);
  check_broadcasts(*c, report.found);
  check_errands(*c, report.found);
  check_hauls(*c, report.found);
  check_incarnations(*c, report.found);
  check_settled(*c, report.found);
  check_errands_settled(*c, report.found);
  if (report.found.empty()) {
    c->begin_knocking();
    settle(*c, roll_call);
    c->begin_roll_call();
    settle(*c, roll_call);
    check_roll_call(*c, report.found);
    check_errand_roll_call(*c, report.found);
    check_settled(*c, report.found);
    check_errands_settled(*c, report.found);
  }
  if (report.found.empty()) {
    c->begin_farewell();
    settle(*c, farewell);
    check_farewell(*c, report.found);
    check_settled(*c, report.found);
  }
  if (report.found.empty()) {
    c->begin_shutdown();
    settle(*c, ending);
    c->bury_the_dead();
    check_broadcasts(*c, report.found);
    check_errands(*c, report.found);
    check_hauls(*c, report.found);
    check_shutdown(*c, report.found);
  }
  count(*c, p, report);
  if (report.found.empty() && p.work == workload::ship) check_bulk_outage(p.seed, report.found);
  if (report.found.empty()) {
    delete c;
  } else {
    report.last_events = last_events(*c);
  }
  return report;
}

}  // namespace scoll::sim
