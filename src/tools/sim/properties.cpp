#include "properties.hpp"

#include <algorithm>

#include "coro/error_format.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

void report(violations& found, std::string_view property, const broadcast_record& b,
            const std::string& what) {
  found.push_back(
      {std::string(property),
       fmt::format("broadcast {} of group {} from host {}: {}; status {}; {}", b.number, b.group->number,
                   b.root->host, what, b.outcome_status ? "ok" : describe(b.outcome_status.error()),
                   describe(b.account))});
}

bool executed(member_state s) {
  return s == member_state::merged || s == member_state::executed;
}

// ---- one broadcast, one member

/// Nobody executes twice.
void at_most_once(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].begun > 1)
      report(found, "at most once", b, fmt::format("rank {} executed {} times", rank, b.members[rank].begun));
  }
}

/// Who is reported executed did, and gave a reply.
void executed_did(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (executed(b.account.state(rank)) && (b.members[rank].begun != 1 || b.members[rank].contributed != 1))
      report(found, "executed did", b, fmt::format("rank {} did not", rank));
  }
}

/// Who is reported not reached, or failed before `execute`, did not execute.
void not_reached_did_not(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const member_state s = b.account.state(rank);
    const phase where = b.account.why(rank).where;
    const bool before = s == member_state::failed &&
                        (where == phase::liveness || where == phase::admission || where == phase::prepare);
    if ((s == member_state::not_reached || before) && b.members[rank].begun != 0)
      report(found, "not reached did not", b, fmt::format("rank {} executed", rank));
  }
}

/// Who is failed gave no reply of its own that could be merged, so its `execute` did not succeed.
void failed_did_not_contribute(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const bool own =
        b.account.state(rank) == member_state::failed && b.account.why(rank).where == phase::execute &&
        b.account.why(rank).what != errc::deadline_exceeded && b.account.why(rank).what != errc::cancelled;
    if (own && b.members[rank].contributed != 0)
      report(found, "failed did not contribute", b, fmt::format("rank {} did", rank));
  }
}

// ---- one broadcast

/// The value is the sum over exactly those who are merged, each once.
void merged_once(const broadcast_record& b, violations& found) {
  std::uint64_t total = 0;
  std::uint32_t members = 0;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.account.state(rank) != member_state::merged) continue;
    total += contribution(b.number, rank);
    ++members;
  }
  if (b.value.has_value() != (members != 0))
    return report(found, "merged once", b, "a value without members, or members without value");
  if (b.value && (b.value->total != total || b.value->members != members))
    report(found, "merged once", b,
           fmt::format("the value is of {} members, {} are reported", b.value->members, members));
}

/// Success means that every member is merged, and nothing else is success.
void success_is_complete(const broadcast_record& b, violations& found) {
  const bool complete = b.account.count(member_state::merged) == b.members.size();
  if (b.outcome_status.has_value() != complete || b.account.members() != b.members.size())
    report(found, "success is complete", b, "the status does not agree with the account");
}

nanoseconds overlap(const fault_record& f, nanoseconds from, nanoseconds until, nanoseconds aftermath) {
  return std::max(nanoseconds(0), std::min(f.until - aftermath, until) - std::max(f.from, from));
}

/// The await ends by its deadline, or by the bound computed from the tree.
void ends_by_its_bound(const broadcast_record& b, const cluster& c, violations& found) {
  if (b.bound == nanoseconds::max()) return;
  constexpr nanoseconds aftermath = std::chrono::seconds(10);
  nanoseconds allowed = b.bound + b.bound / 50 + milliseconds(30);
  for (const fault_record& f : c.faults()) {
    const bool here = f.kind == event_kind::stall && (f.hosts >> b.root->host & 1) != 0;
    if (here) allowed += 2 * overlap(f, b.began, b.ended, aftermath);
  }
  if (b.took > allowed)
    report(found, "ends by its bound", b,
           fmt::format("took {} us of {} us", b.took.count() / 1000, b.bound.count() / 1000));
}

/// Hosts on the way from the root to a member, both included.
std::uint64_t path_to(const broadcast_record& b, const any_tree& tree, std::uint32_t rank) {
  const auto n = static_cast<std::uint32_t>(b.members.size());
  std::uint64_t hosts = 0;
  std::uint32_t relative = to_relative(rank, b.root_rank, n);
  while (true) {
    hosts |= std::uint64_t{1} << b.group->members[to_rank(relative, b.root_rank, n)];
    if (relative == 0) return hosts;
    relative = tree.parent(n, relative);
  }
}

/// Unknown is rare: only where the path suffered a fault, or where time was over or the caller cancelled.
void unknown_has_a_reason(const broadcast_record& b, const cluster& c, violations& found) {
  if (b.account.count(member_state::unknown) == 0) return;
  const auto tree = any_tree::resolve(b.group->tree, static_cast<std::uint32_t>(b.members.size()));
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.account.state(rank) != member_state::unknown) continue;
    const error& why = b.account.why(rank).what;
    if (why == errc::deadline_exceeded || (why == errc::cancelled && b.cancelled)) continue;
    const std::uint64_t path = path_to(b, *tree, rank);
    const bool touched = std::any_of(c.faults().begin(), c.faults().end(), [&](const fault_record& f) {
      return (f.hosts & path) != 0 && f.from <= b.ended && f.until >= b.began;
    });
    if (!touched)
      report(found, "unknown has a reason", b, fmt::format("rank {} is unknown: {}", rank, describe(why)));
  }
}

/// Without faults and with time left nothing is lost or left out.
void nothing_fails_by_itself(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || b.cancelled) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const member_state s = b.account.state(rank);
    const cause& why = b.account.why(rank);
    if (s == member_state::merged || why.what == errc::deadline_exceeded) continue;
    const bool told_to =
        why.where == phase::prepare || why.where == phase::execute || why.where == phase::reply;
    if (!told_to) report(found, "nothing fails by itself", b, fmt::format("rank {}", rank));
  }
}

void check_result(const broadcast_record& b, const cluster& c, violations& found) {
  executed_did(b, found);
  not_reached_did_not(b, found);
  failed_did_not_contribute(b, found);
  merged_once(b, found);
  success_is_complete(b, found);
  ends_by_its_bound(b, c, found);
  unknown_has_a_reason(b, c, found);
  nothing_fails_by_itself(b, c, found);
}

// ---- nodes

void report(violations& found, std::string_view property, std::uint32_t host, const std::string& what) {
  found.push_back({std::string(property), fmt::format("host {}: {}", host, what)});
}

/// No operation, message or half-made connection is left.
void holds_nothing(std::uint32_t host, detail::engine& engine, violations& found) {
  transport::endpoint& wire = engine.wire();
  if (engine.operations() != 0)
    report(found, "holds nothing", host, fmt::format("{} operations", engine.operations()));
  if (wire.messages_in_use() != 0)
    report(found, "holds nothing", host, fmt::format("{} messages", wire.messages_in_use()));
  if (wire.handshakes() != 0)
    report(found, "holds nothing", host, fmt::format("{} handshakes", wire.handshakes()));
}

/// A peer that is connected has been given its credit back: it is granted anew at half a window.
void credit_is_back(std::uint32_t host, detail::engine& engine, violations& found) {
  const auto& window = engine.wire().options().window;
  engine.wire().sessions([&](transport::session& s) {
    constexpr auto klass = transport::traffic_class::collective;
    const std::uint32_t full = window[static_cast<std::size_t>(klass)];
    if (!s.connected(klass)) return;
    if (s.credit(klass) < full / 2 || s.credit(klass) > full)
      report(found, "credit is back", host,
             fmt::format("{} of {} to node {}", s.credit(klass), full, s.peer()));
  });
}

void within_bounds(std::uint32_t host, detail::engine& engine, violations& found) {
  if (engine.operations() > engine.options().max_operations)
    report(found, "within bounds", host, fmt::format("{} operations", engine.operations()));
  const auto& options = engine.wire().options();
  // Requests: what waits for credit and what is not acknowledged. Replies and cancels: one each per request
  // of either side.
  const std::size_t most = 2 * transport::class_count * (options.queue_limit + 2 * options.window[1]);
  engine.wire().sessions([&](transport::session& s) {
    if (s.held_messages() > most)
      report(found, "within bounds", host,
             fmt::format("{} messages held for node {}", s.held_messages(), s.peer()));
  });
}

}  // namespace

void check_broadcasts(const cluster& c, violations& found) {
  for (const auto& [number, b] : c.broadcasts()) {
    at_most_once(b, found);
    if (number >= cluster::first_roll_call || b.ended_by_crash || b.root->crashed) continue;
    if (b.done) {
      check_result(b, c, found);
    } else {
      report(found, "every await ends", b, "it has not");
    }
  }
}

void check_settled(cluster& c, violations& found) {
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l == nullptr) continue;
    holds_nothing(host, l->member->get_engine(), found);
    credit_is_back(host, l->member->get_engine(), found);
  }
}

void check_bounds(cluster& c, violations& found) {
  if (c.world().livelocked() != c.hosts())
    report(found, "no livelock", c.world().livelocked(), "ran without end at one point in time");
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    if (life* const l = c.alive(host)) within_bounds(host, l->member->get_engine(), found);
  }
}

void check_roll_call(const cluster& c, violations& found) {
  for (auto it = c.broadcasts().lower_bound(cluster::first_roll_call); it != c.broadcasts().end(); ++it) {
    const broadcast_record& b = it->second;
    if (!b.done || !b.outcome_status)
      report(found, "everybody answers the roll call", b, b.done ? "failed" : "not done");
  }
}

void check_incarnations(const cluster& c, violations& found) {
  std::vector<std::uint64_t> latest(c.hosts());
  for (const life& l : c.all_lives()) {
    if (l.incarnation == 0) continue;  // it never started
    if (l.incarnation <= latest[l.host])
      report(found, "incarnations grow", l.host, fmt::format("{} after {}", l.incarnation, latest[l.host]));
    latest[l.host] = l.incarnation;
  }
}

void check_shutdown(const cluster& c, violations& found) {
  if (c.undead() != 0)
    found.push_back({"every life ends", fmt::format("{} crashed lives did not, left alone", c.undead())});
  for (const life& l : c.all_lives()) {
    if (l.crashed) continue;
    if (!l.ended || !*l.ended)
      report(found, "every life ends", l.host,
             l.ended ? describe(l.ended->error()) : "shutdown has not returned");
  }
}

}  // namespace scoll::sim
