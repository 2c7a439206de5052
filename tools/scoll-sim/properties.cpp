#include "properties.hpp"

#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "scoll/ship/shipper.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t max_children = 63;  // in a flat tree of the most hosts

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

/// No member executes twice.
void at_most_once(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].begun > 1)
      report(found, "at most once", b, fmt::format("rank {} executed {} times", rank, b.members[rank].begun));
  }
}

/// A member that is reported as executed has executed once and has given one reply.
void executed_did(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (executed(b.account.state(rank)) && (b.members[rank].begun != 1 || b.members[rank].contributed != 1))
      report(found, "executed did", b, fmt::format("rank {} did not", rank));
  }
}

/// A member that is reported as not reached, or that failed before `execute`, has not executed.
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

/// A member whose state is known when the await ends does not begin to execute later. After an acknowledged
/// abort no member executes any more.
void nothing_begins_afterwards(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.account.state(rank) != member_state::unknown && b.members[rank].last_begun > b.ended)
      report(found, "nothing begins afterwards", b, fmt::format("rank {} did", rank));
  }
}

/// A member that the broadcast does not address does not execute it, and only such a member is reported as
/// excluded.
void excluded_did_not(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const bool addressed = std::binary_search(b.addressed.begin(), b.addressed.end(), rank);
    if (addressed == (b.account.state(rank) == member_state::excluded))
      report(found, "excluded did not", b, fmt::format("rank {} is not what it should be", rank));
    if (!addressed && b.members[rank].begun != 0)
      report(found, "excluded did not", b, fmt::format("rank {} executed", rank));
  }
}

/// A member whose reply exceeds the allowed size is not merged. The root is exempt, because its reply stays
/// on its node.
void too_much_is_refused(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const bool too_much = rank != b.root_rank && (b.request.oversized >> rank & 1) != 0;
    if (too_much && b.account.state(rank) == member_state::merged)
      report(found, "too much is refused", b, fmt::format("rank {} is merged", rank));
  }
}

/// A member that is reported as failed gave no reply that could be merged, so its `execute` did not succeed.
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

/// The value is the sum over exactly the merged members, each counted once.
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

/// A broadcast succeeds if and only if every addressed member is merged.
void success_is_complete(const broadcast_record& b, violations& found) {
  const bool complete = b.account.count(member_state::merged) == b.addressed.size();
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

/// Returns the hosts on the path from the root to a member, both included.
std::uint64_t path_to(const broadcast_record& b, const any_tree& tree, std::uint32_t rank) {
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto place = std::lower_bound(b.addressed.begin(), b.addressed.end(), rank) - b.addressed.begin();
  std::uint64_t hosts = 0;
  std::uint32_t relative = to_relative(static_cast<std::uint32_t>(place), b.root_place, n);
  while (true) {
    hosts |= std::uint64_t{1} << b.group->members[b.addressed[to_rank(relative, b.root_place, n)]];
    if (relative == 0) return hosts;
    relative = tree.parent(n, relative);
  }
}

/// A state is unknown only if the path suffered a fault, the time was over, or the caller cancelled.
void unknown_has_a_reason(const broadcast_record& b, const cluster& c, violations& found) {
  if (b.account.count(member_state::unknown) == 0) return;
  const auto tree = any_tree::resolve(b.group->tree, static_cast<std::uint32_t>(b.addressed.size()));
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

/// Without faults, with time left and within the limits, no member is lost or left out.
void nothing_fails_by_itself(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || b.cancelled || b.group->ending) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const member_state s = b.account.state(rank);
    const cause& why = b.account.why(rank);
    const bool bounded = why.what == errc::deadline_exceeded || why.what == errc::busy;
    if (s == member_state::merged || s == member_state::excluded || bounded) continue;
    const bool told_to =
        why.where == phase::prepare || why.where == phase::execute || why.where == phase::reply;
    if (!told_to) report(found, "nothing fails by itself", b, fmt::format("rank {}", rank));
  }
}

/// Longer than any round trip through a tree in a network without faults.
constexpr nanoseconds long_way = milliseconds(250);

/// A parent answers before its own parent gives up. So without faults, and with a margin longer than the
/// round trip, a late member reports the lateness itself.
void the_late_speak_for_themselves(const broadcast_record& b, const cluster& c, violations& found) {
  constexpr nanoseconds ample = milliseconds(15);
  if (!c.faults().empty() || b.cancelled) return;
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto tree = any_tree::resolve(b.group->tree, n);
  const nanoseconds given = b.options.deadline.left({});
  if (given < 4 * ample * static_cast<std::int64_t>(tree->subtree_levels(n, 0))) return;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    if (why.where == phase::delivery && why.what == errc::deadline_exceeded)
      report(found, "the late speak for themselves", b, fmt::format("rank {} did not", rank));
  }
}

/// Without faults a cancelled broadcast returns at once or, if hooks ignore their stop token, when the time
/// for an abort is over.
void a_stop_is_heard(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || !b.cancelled) return;
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto levels = any_tree::resolve(b.group->tree, n)->subtree_levels(n, 0);
  const node_options& times = detail::node_access::engine(*b.root->member).options();
  const nanoseconds for_the_deaf = levels * (times.rtt_estimate + times.level_margin);
  if (b.ended > b.cancelled_at + long_way + (deaf(b.number) ? for_the_deaf : nanoseconds(0)))
    report(found, "a stop is heard", b,
           fmt::format("after {} us", (b.ended - b.cancelled_at).count() / 1000));
}

/// Without faults, and with time left, every member answers an abort, even if only to report unknown states.
void an_abort_is_acknowledged(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || !b.cancelled || b.cancelled_at + long_way > b.began + b.bound) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.account.state(rank) == member_state::unknown && b.account.why(rank).where == phase::delivery)
      report(found, "an abort is acknowledged", b, fmt::format("rank {} did not answer it", rank));
  }
}

/// Without faults, hooks that heed their stop token end soon after the last caller has stopped waiting.
void nobody_works_for_nothing(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || deaf(b.number)) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].last_left > b.ended + long_way)
      report(found, "nobody works for nothing", b,
             fmt::format("rank {} for {} us", rank, (b.members[rank].last_left - b.ended).count() / 1000));
  }
}

/// In an honest cluster no node takes another for a stranger, or a request for a repeated one.
void the_honest_agree(const broadcast_record& b, violations& found) {
  for (const cause& why : b.account.causes()) {
    for (const errc code : {errc::malformed, errc::already_exists, errc::not_parent, errc::not_member,
                            errc::unknown_tree, errc::unknown_service}) {
      if (why.what == code) return report(found, "the honest agree", b, "they do not");
    }
  }
}

void check_result(const broadcast_record& b, const cluster& c, violations& found) {
  executed_did(b, found);
  not_reached_did_not(b, found);
  nothing_begins_afterwards(b, found);
  excluded_did_not(b, found);
  too_much_is_refused(b, found);
  failed_did_not_contribute(b, found);
  merged_once(b, found);
  success_is_complete(b, found);
  ends_by_its_bound(b, c, found);
  unknown_has_a_reason(b, c, found);
  nothing_fails_by_itself(b, c, found);
  the_late_speak_for_themselves(b, c, found);
  a_stop_is_heard(b, c, found);
  an_abort_is_acknowledged(b, c, found);
  nobody_works_for_nothing(b, c, found);
  the_honest_agree(b, found);
}

/// Requests from nodes that are not the parent are refused.
void strangers_are_refused(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].begun != 0)
      report(found, "strangers are refused", b, fmt::format("rank {} executed", rank));
  }
}

// ---- nodes

void report(violations& found, std::string_view property, std::uint32_t host, const std::string& what) {
  found.push_back({std::string(property), fmt::format("host {}: {}", host, what)});
}

/// The request that tells a member that is down of groups that have ended: a node that no news of the death
/// has reached goes on trying.
std::size_t tells_in_vain(cluster& c, detail::engine& engine, const transport::session& s) {
  const bool down = c.alive(static_cast<std::uint32_t>(s.peer() - 1)) == nullptr;
  return down && engine.groups_ending() != 0 ? std::min<std::size_t>(s.waiting(), 1) : 0;
}

/// No operation, message, buffer, exchange or half-made connection is left.
void holds_nothing(std::uint32_t host, cluster& c, detail::engine& engine, violations& found) {
  transport::endpoint& wire = engine.wire();
  std::size_t in_vain = 0;
  wire.sessions([&](transport::session& s) {
    const std::size_t told = tells_in_vain(c, engine, s);
    in_vain += told;
    if (s.waiting() != told || s.owing() != 0)
      report(found, "holds nothing", host,
             fmt::format("{} requests to node {} and {} of it", s.waiting(), s.peer(), s.owing()));
  });
  if (engine.operations() != 0)
    report(found, "holds nothing", host, fmt::format("{} operations", engine.operations()));
  if (wire.messages_in_use() > in_vain)
    report(found, "holds nothing", host, fmt::format("{} messages", wire.messages_in_use()));
  if (wire.payloads_in_use() != 0)
    report(found, "holds nothing", host, fmt::format("{} payload buffers", wire.payloads_in_use()));
  if (wire.handshakes() != 0)
    report(found, "holds nothing", host, fmt::format("{} handshakes", wire.handshakes()));
}

/// Returns the other end of a session that exists on both ends, or null if it does not.
transport::session* other_end(cluster& c, std::uint32_t host, const transport::session& s) {
  life* const peer = c.alive(static_cast<std::uint32_t>(s.peer() - 1));
  if (peer == nullptr || s.peer_incarnation() != peer->incarnation || s.peer_epoch() == 0) return nullptr;
  transport::session* const other = peer->member->wire().find(host + 1);
  const bool same = other->peer_incarnation() == c.alive(host)->incarnation &&
                    other->peer_epoch() == s.epoch() && other->epoch() == s.peer_epoch();
  return same ? other : nullptr;
}

/// Credit is neither created nor lost. In every class the peer has received everything that was sent and has
/// finished with it. The remaining credit is between half a window, where new credit is granted, and a whole
/// window.
void credit_is_conserved(std::uint32_t host, cluster& c, violations& found) {
  detail::engine& engine = detail::node_access::engine(*c.alive(host)->member);
  engine.wire().sessions([&](transport::session& s) {
    transport::session* const other = other_end(c, host, s);
    if (other == nullptr) return;
    for (std::size_t k = 0; k < transport::class_count; ++k) {
      const auto klass = static_cast<transport::traffic_class>(k);
      const std::uint32_t window = engine.wire().options().window[k];
      const transport::credit_window& here = s.credits(klass);
      const transport::credit_window& there = other->credits(klass);
      const std::uint32_t credit = here.granted_to_us() - here.sent();
      const bool conserved = here.sent() == there.received() && there.received() == there.disposed() &&
                             here.granted_to_us() == there.granted_by_us() && credit >= window / 2 &&
                             credit <= window;
      if (!conserved)
        report(found, "credit is conserved", host,
               fmt::format("class {} to node {}: sent {}, received {}, done with {}, granted {} and {}", k,
                           s.peer(), here.sent(), there.received(), there.disposed(), there.granted_by_us(),
                           here.granted_to_us()));
    }
  });
}

/// A node holds no group except those that were created and have not been destroyed.
void holds_no_other_group(std::uint32_t host, const cluster& c, detail::engine& engine, violations& found) {
  engine.each_group([&](const detail::group_state& held) {
    const auto known = std::find_if(c.groups().begin(), c.groups().end(), [&](const auto& entry) {
      return entry.second.id && *entry.second.id == held.id;
    });
    if (known == c.groups().end())
      return report(found, "holds no other group", host,
                    fmt::format("group {} of node {} was never made", held.id.counter, held.id.creator));
    if (known->second.destroyed)
      report(found, "holds no other group", host, fmt::format("group {} is destroyed", known->first));
  });
}

/// Once a member has asked for the end of a group and is still there, no live node holds that group, whatever
/// the member was told: those that were missed are told later.
void an_ended_group_leaves_nothing(std::uint32_t host, const cluster& c, detail::engine& engine,
                                   violations& found) {
  for (const auto& [number, g] : c.groups()) {
    const bool asked = std::ranges::any_of(g.ended_by, [](const life* l) { return !l->crashed; });
    if (asked && engine.find_group(*g.id) != nullptr)
      report(found, "an ended group leaves nothing", host, fmt::format("group {}", number));
  }
}

/// Groups end with the life that created them: once every node knows which lives are current, nodes hold only
/// groups of current lives.
void groups_end_with_their_creators(std::uint32_t host, cluster& c, detail::engine& engine,
                                    violations& found) {
  if (!c.has_liveness()) return;
  engine.each_group([&](const detail::group_state& held) {
    life* const creator = c.alive(static_cast<std::uint32_t>(held.id.creator - 1));
    if (creator == nullptr || creator->incarnation != held.id.incarnation)
      report(found, "groups end with their creators", host,
             fmt::format("group {} of life {} of node {}", held.id.counter, held.id.incarnation,
                         held.id.creator));
  });
}

/// While a node counts as dead it gets no requests, and earlier requests to it have ended.
void nobody_waits_for_the_dead(std::uint32_t host, detail::engine& engine, violations& found) {
  engine.wire().sessions([&](transport::session& s) {
    if (engine.lives().is_dead(s.peer()) && s.waiting() != 0)
      report(found, "nobody waits for the dead", host,
             fmt::format("{} requests to node {}", s.waiting(), s.peer()));
  });
}

/// When no message is under way between two nodes, the peer is working on every request that a node waits
/// for. Since every wait is bounded, it follows that no nodes wait for each other in a circle.
void nobody_waits_for_nothing(std::uint32_t host, cluster& c, violations& found) {
  c.alive(host)->member->wire().sessions([&](transport::session& s) {
    transport::session* const other = s.waiting() == 0 ? nullptr : other_end(c, host, s);
    if (other == nullptr || s.held_messages() != 0 || other->held_messages() != 0) return;
    if (s.waiting() > other->owing())
      report(found, "nobody waits for nothing", host,
             fmt::format("{} requests to node {}, which works at {}", s.waiting(), s.peer(), other->owing()));
  });
}

/// A node hears the lives of a peer in ascending order only.
void lives_go_forward(std::uint32_t host, cluster& c, violations& found) {
  life& l = *c.alive(host);
  l.heard.resize(c.hosts());
  l.member->wire().sessions([&](transport::session& s) {
    std::uint64_t& latest = l.heard[s.peer() - 1];
    if (s.peer_incarnation() < latest)
      report(found, "lives go forward", host,
             fmt::format("life {} of node {} after {}", s.peer_incarnation(), s.peer(), latest));
    latest = std::max(latest, s.peer_incarnation());
  });
}

/// Without altered bytes no node has a reason to break off a connection.
void the_honest_keep_the_protocol(const life& l, const cluster& c, violations& found) {
  const bool altered = std::any_of(c.faults().begin(), c.faults().end(),
                                   [](const fault_record& f) { return f.kind == event_kind::corrupt; });
  transport::endpoint& wire = l.member->wire();
  if (!altered && wire.statistics().links_broken != 0)
    report(found, "the honest keep the protocol", l.host, describe(wire.last_violation()));
}

void within_bounds(std::uint32_t host, detail::engine& engine, violations& found) {
  if (engine.operations() > engine.options().max_operations + detail::extra_group_operations)
    report(found, "within bounds", host, fmt::format("{} operations", engine.operations()));
  // Payload buffers: for each operation the request as it came and as rewritten, for each message one
  // payload, and for each child the answer that waits for `on_reply`.
  const std::size_t answers = engine.operations() * max_children;
  const std::size_t payloads = 2 * engine.operations() + engine.wire().messages_in_use() + answers;
  if (engine.wire().payloads_in_use() > payloads)
    report(found, "within bounds", host, fmt::format("{} payload buffers", engine.wire().payloads_in_use()));
  const auto& options = engine.wire().options();
  // Requests: those that wait for credit and those that are not acknowledged. Replies and cancels: one each
  // per request of either side.
  const std::size_t most = 2 * transport::class_count * (options.queue_limit + 2 * options.window[1]);
  engine.wire().sessions([&](transport::session& s) {
    for (const auto klass : {transport::traffic_class::urgent, transport::traffic_class::collective}) {
      if (s.queued(klass) > options.queue_limit)
        report(found, "within bounds", host,
               fmt::format("{} requests wait for credit to node {}", s.queued(klass), s.peer()));
    }
    if (s.held_messages() > most)
      report(found, "within bounds", host,
             fmt::format("{} messages held for node {}", s.held_messages(), s.peer()));
  });
}

}  // namespace

void check_broadcasts(const cluster& c, violations& found) {
  if (c.garbled_requests() != 0)
    found.push_back({"requests arrive as they were sent", fmt::format("{} did not", c.garbled_requests())});
  for (const auto& [number, b] : c.broadcasts()) {
    if (b.stray) {
      strangers_are_refused(b, found);
      continue;
    }
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
    holds_nothing(host, c, detail::node_access::engine(*l->member), found);
    credit_is_conserved(host, c, found);
    holds_no_other_group(host, c, detail::node_access::engine(*l->member), found);
    an_ended_group_leaves_nothing(host, c, detail::node_access::engine(*l->member), found);
    groups_end_with_their_creators(host, c, detail::node_access::engine(*l->member), found);
    lives_go_forward(host, c, found);
  }
  for (const life& l : c.all_lives()) {
    if (l.member != nullptr) the_honest_keep_the_protocol(l, c, found);
  }
}

void check_bounds(cluster& c, violations& found) {
  if (c.world().livelocked() != c.hosts())
    report(found, "no livelock", c.world().livelocked(), "ran without end at one point in time");
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l == nullptr) continue;
    within_bounds(host, detail::node_access::engine(*l->member), found);
    nobody_waits_for_nothing(host, c, found);
    nobody_waits_for_the_dead(host, detail::node_access::engine(*l->member), found);
    lives_go_forward(host, c, found);
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

void check_farewell(cluster& c, violations& found) {
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    life* const l = c.alive(host);
    if (l != nullptr && detail::node_access::engine(*l->member).groups() != 0)
      report(found, "the last group leaves nothing", host,
             fmt::format("{} groups", detail::node_access::engine(*l->member).groups()));
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
