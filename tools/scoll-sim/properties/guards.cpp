#include <algorithm>
#include <map>
#include <vector>

#include "tools/scoll-sim/guards/outsider_visit.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// What must hold where connections are guarded.
namespace scoll::sim {
namespace {

// As docs/security.md promises, and not as the library says.
constexpr std::uint64_t most_steps = 8;
constexpr std::uint64_t most_step_bytes = 4'096;
// A connection that is turned away may still be under way, and clocks may be slow.
constexpr nanoseconds leave_taking = std::chrono::milliseconds(500);
// A rail that fails may keep from the outsider that it was turned away.
constexpr nanoseconds longest_rail_fault = std::chrono::seconds(5);

bool has_altered_bytes(const cluster& c) {
  return std::ranges::any_of(c.faults(), [](const fault_record& f) { return f.alters; });
}

/// True if nothing has failed but connections.
bool only_connections_broke(const cluster& c) {
  return std::ranges::all_of(c.faults(), &fault_record::cut_only);
}

bool has_several_rails(const cluster& c, std::uint32_t host) {
  return c.alive(host)->rails.size() > 1;
}

/// The life that it visits is still there, and has not stood still since.
bool is_awaited(const cluster& c, const outsider_visit& v) {
  const life* const visited = c.alive(v.how.to);
  return v.connected && !v.over && visited != nullptr && visited->number == v.life;
}

/// The time that a connection has been open on a host that ran.
nanoseconds open_for(cluster& c, const outsider_visit& v) {
  return c.world().now() - std::max(v.came, std::min(c.stalled_until(), c.world().now()));
}

void nobody_else_is_let_in(cluster& c, violations& found) {
  for (const outsider_visit& v : c.guards()->strangers()->visits()) {
    if (v.let_in)
      report(found, "only holders of a key are let in", v.how.to,
             fmt::format("an outsider of manner {} was", static_cast<int>(v.how.manner)));
  }
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    if (c.alive(host) == nullptr) continue;
    c.alive(host)->member->wire().sessions([&](transport::session& s) {
      if (s.peer_incarnation() == outsiders::incarnation)
        report(found, "only holders of a key are let in", host,
               fmt::format("an outsider has a session as node {}", s.peer()));
    });
  }
}

/// Each handshake that is worth something has a node at both ends.
void nothing_repeated_is_believed(const cluster& c, violations& found) {
  const std::uint64_t repeated = c.guards()->keys().repeated_handshakes();
  if (repeated != 0)
    report(found, "only holders of a key are let in", 0,
           fmt::format("{} repeated handshakes were believed", repeated));
}

void outsiders_are_turned_away_in_time(cluster& c, violations& found) {
  for (const outsider_visit& v : c.guards()->strangers()->visits()) {
    if (!is_awaited(c, v)) continue;
    const nanoseconds limit = c.alive(v.how.to)->member->wire().options().hello_limit;
    const nanoseconds bound = limit + limit / 20 + leave_taking +
                              (has_several_rails(c, v.how.to) ? longest_rail_fault : nanoseconds(0));
    if (open_for(c, v) > bound)
      report(found, "outsiders are turned away in time", v.how.to,
             fmt::format("one of manner {} is there for {} ms", static_cast<int>(v.how.manner),
                         open_for(c, v) / std::chrono::milliseconds(1)));
  }
}

/// So many connections of one address may be there that have not introduced themselves.
void outsiders_have_few_places(cluster& c, violations& found) {
  std::map<std::uint32_t, std::uint32_t> open;
  for (const outsider_visit& v : c.guards()->strangers()->visits())
    open[v.how.to] += is_awaited(c, v) && open_for(c, v) > leave_taking;
  for (const auto& [host, count] : open) {
    if (c.alive(host) == nullptr) continue;
    const std::uint32_t most = c.alive(host)->member->wire().options().handshakes_per_host;
    if (count > most && !has_several_rails(c, host))
      report(found, "outsiders have few places", host, fmt::format("{} of {}", count, most));
  }
}

/// Whoever hangs up in a handshake gets no more of them than who stays.
void outsiders_buy_few_handshakes(cluster& c, violations& found) {
  std::map<std::uint32_t, std::vector<nanoseconds>> bought;
  for (const outsider_visit& v : c.guards()->strangers()->visits()) {
    const life* const visited = c.alive(v.how.to);
    if (visited != nullptr && visited->number == v.life && v.answered != nanoseconds(0))
      bought[v.how.to].push_back(v.answered);
  }
  for (auto& [host, times] : bought) {
    const transport::endpoint_options& options = c.alive(host)->member->wire().options();
    const std::size_t most = options.handshakes_per_host;
    const nanoseconds limit = options.hello_limit - options.hello_limit / 20 - leave_taking;
    std::ranges::sort(times);
    for (std::size_t i = most; i < times.size() && !has_several_rails(c, host); ++i) {
      if (times[i] - times[i - most] < limit)
        report(found, "outsiders buy few handshakes", host,
               fmt::format("{} in {} ms", most + 1,
                           (times[i] - times[i - most]) / std::chrono::milliseconds(1)));
    }
  }
}

void handshakes_are_bounded(const cluster& c, violations& found) {
  const testing::sim_guard_counts& count = c.guards()->keys().counts();
  if (count.most_steps > most_steps || count.most_step_bytes > most_step_bytes)
    report(
        found, "handshakes are bounded", 0,
        fmt::format("a guard was given {} steps of up to {} bytes", count.most_steps, count.most_step_bytes));
}

/// Whatever was altered on the way, nothing passes between ends that do not have one channel.
void altered_handshakes_lead_nowhere(const cluster& c, violations& found) {
  if (c.guards()->unbound_frames() != 0)
    report(found, "an altered handshake leads nowhere", 0,
           fmt::format("{} frames passed", c.guards()->unbound_frames()));
}

}  // namespace

void check_guards(cluster& c, violations& found) {
  if (!c.guards()) return;
  handshakes_are_bounded(c, found);
  altered_handshakes_lead_nowhere(c, found);
  nothing_repeated_is_believed(c, found);
  if (c.guards()->strangers() == nullptr) return;
  nobody_else_is_let_in(c, found);
  outsiders_are_turned_away_in_time(c, found);
  outsiders_have_few_places(c, found);
  outsiders_buy_few_handshakes(c, found);
}

/// While keys are changed, no honest node is turned away; if nothing but connections breaks, no session is lost.
void check_keys(const cluster& c, violations& found) {
  if (!c.guards()) return;
  for (const life& l : c.all_lives()) {
    if (l.member == nullptr) continue;
    const transport::endpoint_statistics& count = l.member->wire().statistics();
    const bool honest =
        c.guards()->strangers() == nullptr && !has_altered_bytes(c) && only_connections_broke(c);
    if (honest && count.not_authentic != 0)
      report(found, "the honest are believed", l.host, describe(l.member->wire().last_refusal()));
    // A client that nobody calls is given up with its connection.
    const bool keeps_all = only_connections_broke(c) && c.guests().hosts.empty();
    if (keeps_all && count.sessions_lost + count.bulk_lost != 0)
      report(found, "a change of keys loses no session", l.host,
             fmt::format("{} sessions lost, and {} times bulk alone", count.sessions_lost, count.bulk_lost));
  }
}

}  // namespace scoll::sim
