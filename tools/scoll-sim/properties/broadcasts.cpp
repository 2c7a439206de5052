#include <algorithm>
#include <set>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// What must hold for every broadcast, and for every member of it.

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

bool executed(member_state s) {
  return s == member_state::merged || s == member_state::executed;
}

/// True for the cause that stands for those that do not fit an account, and that differ.
bool stands_for_several(const cause& why) {
  return why.where == phase::none || why.what == errc::incomplete;
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
    const bool before = s == member_state::failed && (where == phase::liveness || where == phase::admission ||
                                                      where == phase::prepare || where == phase::bulk);
    if ((s == member_state::not_reached || before) && b.members[rank].begun != 0)
      report(found, "not reached did not", b, fmt::format("rank {} executed", rank));
  }
}

/// A request that has not left its sender is for the next life of a member that reboots. That life may say itself
/// that the root asks another one.
void a_reboot_ends_nothing_unsent(const broadcast_record& b, violations& found) {
  const bool names_lives = b.options.on_failure == repair && b.group->admits_new_lives();
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const cause& why = b.account.why(rank);
    const bool unsent = b.account.state(rank) == member_state::not_reached;
    const bool barred = names_lives && why.where == phase::admission && why.reporter == rank;
    if (unsent && !barred && why.what == errc::peer_rebooted)
      report(found, "a reboot ends nothing unsent", b, fmt::format("rank {} was not asked", rank));
  }
}

/// A member whose state is known when the await ends does not begin to execute later. After an acknowledged
/// abort no member executes any more.
void nothing_begins_afterwards(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const bool known = b.last_account().state(rank) != member_state::unknown;
    if (known && b.members[rank].last_begun > b.last_ended())
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
    const bool too_much = rank != b.root_rank && holds(b.request.oversized, rank);
    if (too_much && b.account.state(rank) == member_state::merged)
      report(found, "too much is refused", b, fmt::format("rank {} is merged", rank));
  }
}

/// A member that is reported as failed gave no reply that could be merged, so its `execute` did not succeed.
void failed_did_not_contribute(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const bool own = b.account.state(rank) == member_state::failed &&
                     b.account.why(rank).where == phase::execute &&
                     !is_early_end(b.account.why(rank).what.code());
    if (own && b.members[rank].contributed != 0)
      report(found, "failed did not contribute", b, fmt::format("rank {} did", rank));
  }
}

// ---- one broadcast

/// The value is the sum over exactly the merged members, each counted once.
void merged_once(const broadcast_record& b, violations& found) {
  std::uint64_t total = 0;
  std::uint32_t members = 0, entities = 0;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.account.state(rank) != member_state::merged) continue;
    total += contribution(b.number, rank);
    entities += b.group->entities_at(b.group->members[rank]);
    ++members;
  }
  if (b.value.has_value() != (members != 0))
    return report(found, "merged once", b, "a value without members, or members without value");
  if (b.value && (b.value->total != total || b.value->members != members || b.value->entities != entities))
    report(found, "merged once", b,
           fmt::format("the value is of {} members, {} are reported", b.value->members, members));
}

/// A broadcast without a condition succeeds if and only if every addressed member is merged.
void success_is_complete(const broadcast_record& b, violations& found) {
  const bool complete = b.has_condition() ? b.outcome_status.has_value()
                                          : b.account.count(member_state::merged) == b.addressed.size();
  if (b.outcome_status.has_value() != complete || b.account.members() != b.members.size())
    report(found, "success is complete", b, "the status does not agree with the account");
}

/// Returns the hosts on the path from the root to a member, both included.
number_set path_to(const broadcast_record& b, const any_tree& tree, std::uint32_t rank) {
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto place = std::lower_bound(b.addressed.begin(), b.addressed.end(), rank) - b.addressed.begin();
  number_set hosts;
  std::uint32_t relative = to_relative(static_cast<std::uint32_t>(place), b.root_place, n);
  while (true) {
    hosts.insert(b.group->members[b.addressed[to_rank(relative, b.root_place, n)]]);
    if (relative == 0) return hosts;
    relative = tree.parent(n, relative);
  }
}

/// A state is unknown only if the path suffered a fault, the time was over, the caller cancelled, or somebody
/// ended the group.
void unknown_has_a_reason(const broadcast_record& b, const cluster& c, violations& found) {
  if (b.account.count(member_state::unknown) == 0) return;
  const auto tree = tree_of(b);
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.account.state(rank) != member_state::unknown) continue;
    const error& why = b.account.why(rank).what;
    const bool by_end = why == errc::cancelled || why == errc::unknown_group;
    if (why == errc::deadline_exceeded ||
        (by_end && (b.was_stopped() || b.failed_fast() || b.group->is_ending())))
      continue;
    if (is_revoked(b) && (why == errc::revoked || why == errc::cancelled)) continue;
    if (stands_for_several(b.account.why(rank))) continue;
    number_set path = path_to(b, *tree, rank);
    // A group ends with its creator, and its broadcasts end with it.
    for (const group_record* g = b.group; g != nullptr && by_end; g = g->outer) {
      if (g->creator != nullptr) path.insert(g->creator->host);
    }
    const bool touched = std::any_of(c.faults().begin(), c.faults().end(), [&](const fault_record& f) {
      return !f.spares_messages() && !(f.hosts & path).empty() && f.from <= b.ended && f.until >= b.began;
    });
    if (!touched)
      report(found, "unknown has a reason", b, fmt::format("rank {} is unknown: {}", rank, describe(why)));
  }
}

/// Without faults, with time left and within the limits, no member is lost or left out.
void nothing_fails_by_itself(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || b.was_stopped() || b.group->is_ending() || b.held || is_revoked(b)) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const member_state s = b.account.state(rank);
    const cause& why = b.account.why(rank);
    const bool bounded = why.what == errc::deadline_exceeded || why.what == errc::busy ||
                         (why.what == errc::cancelled && b.failed_fast());
    const bool too_late = b.too_late && why.what == errc::stale;
    if (s == member_state::merged || s == member_state::excluded || s == member_state::pending || bounded ||
        too_late)
      continue;
    const bool unprepared =
        !b.group->known_to_all() && (why.what == errc::unknown_group || why.what == errc::membership_changed);
    const bool other_version = has_versions(b.group->service) && why.what == errc::version_mismatch;
    const freights::freight* const load = c.carried().find(b.number);
    const bool spoiled =
        load != nullptr && why.where == phase::bulk && load->about.spoiling.contains(why.reporter);
    const bool stood =
        load != nullptr && why.where == phase::bulk && load->about.standing.contains(why.reporter);
    const bool told_to = stands_for_several(why) || unprepared || other_version || spoiled || stood ||
                         why.where == phase::prepare || why.where == phase::execute ||
                         why.where == phase::reply;
    if (!told_to) report(found, "nothing fails by itself", b, fmt::format("rank {}", rank));
  }
}

/// A member that serves another version does not execute, and says so.
void other_versions_do_not_execute(const broadcast_record& b, const cluster& c, violations& found) {
  if (!has_versions(b.group->service)) return;
  const bool old = c.serves_old_version(b.root->host);
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const bool other = c.serves_old_version(b.group->members[rank]) != old;
    if (other && b.members[rank].begun != 0)
      report(found, "other versions do not execute", b, fmt::format("rank {} executed", rank));
    if (!other && b.account.why(rank).what == errc::version_mismatch && b.account.why(rank).reporter == rank)
      report(found, "other versions do not execute", b, fmt::format("rank {} has the same version", rank));
  }
}

/// A broadcast to members with the same view is executed by no member that sees others alive. Of any other
/// broadcast to the living, all members that do are counted if they are merged.
void dissent_is_told(const broadcast_record& b, const cluster& c, violations& found) {
  // A member that prepares may hear news before it executes.
  // A member that a further round reaches does not know which members the root saw alive.
  if (b.manner.to == audience::chosen || b.held || prepares(b.group->service) || is_repaired(b, c)) return;
  rank_set dissenters;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const member_record& m = b.members[rank];
    if (m.wavers || (m.begun != 0 && m.executor == nullptr)) return;
    if (m.dissents) dissenters.append(rank, rank + 1);
  }
  const bool alike = b.manner.to == audience::same_view;
  if (alike && dissenters.size() + b.account.dissenting().members != 0)
    report(found, "dissent is told", b,
           fmt::format("ranks {} take part all the same", to_string(dissenters)));
  if (!alike && b.outcome_status && !b.has_condition() && b.account.dissenting().members != dissenters.size())
    report(found, "dissent is told", b,
           fmt::format("of {}, not of ranks {}", b.account.dissenting().members, to_string(dissenters)));
}

/// What a broadcast chose to do about members that were known to be dead is done: nothing is executed, or the
/// others are asked.
void the_dead_are_treated_as_chosen(const broadcast_record& b, violations& found) {
  if (b.held || b.stray) return;
  if (b.manner.to != audience::chosen && b.dead_known)
    return report(found, "the dead are treated as chosen", b, "the dead are among the living");
  const bool tries = b.options.dead == dead_members::try_others;
  const bool refused = std::any_of(b.account.causes().begin(), b.account.causes().end(),
                                   [](const cause& why) { return why.where == phase::liveness; });
  if (refused && (tries || !b.dead_known))
    report(found, "the dead are treated as chosen", b, "it was refused");
  if (!b.dead_known || tries) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].begun != 0)
      report(found, "the dead are treated as chosen", b, fmt::format("rank {} executed", rank));
  }
}

/// A member whose `prepare` refuses does not execute, and one whose `finish` refuses is not merged.
void refusals_are_heard(const broadcast_record& b, violations& found) {
  if (!prepares(b.group->service)) return;
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (holds(b.request.refusing, rank) && b.members[rank].begun != 0)
      report(found, "refusals are heard", b, fmt::format("rank {} executed", rank));
    const bool at_root_alone = b.has_condition() || b.options.on_failure == repair;
    const bool finishes = !at_root_alone || rank == b.root_rank;
    const bool finish_refuses = finishes && !b.held && b.counter % 16 == 7 && rank % 4 == 2;
    if (finish_refuses && b.account.state(rank) == member_state::merged)
      report(found, "refusals are heard", b, fmt::format("rank {} is merged", rank));
  }
}

/// A reply that fits the capacity is not refused as too large by the member that made it alone.
void what_fits_is_not_refused(const broadcast_record& b, violations& found) {
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto tree = tree_of(b);
  for (std::uint32_t place = 0; tree && place < n; ++place) {
    const std::uint32_t rank = b.addressed[place];
    const cause& why = b.account.why(rank);
    const bool leaf = tree->fan_out(n, to_relative(place, b.root_place, n)) == 0;
    if (leaf && why.what == errc::too_large && why.reporter == rank && !holds(b.request.oversized, rank))
      report(found, "what fits is not refused", b, fmt::format("the reply of rank {} was", rank));
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

/// A zoned tree enters each zone once, and sends into other zones first. All zones are entered if everybody has
/// executed.
void zones_are_crossed_once_each(const broadcast_record& b, const cluster& c, violations& found) {
  if (b.group->tree.kind != zoned::kind || b.stray || is_repaired(b, c)) return;
  std::set<std::uint16_t> zones;
  for (const std::uint32_t rank : b.addressed) zones.insert(b.group->place_at(b.group->members[rank]).zone);
  std::size_t crossings = 0;
  for (const member_record& m : b.members) {
    crossings += m.crossings;
    if (m.near_first) return report(found, "zones are crossed Z-1 times", b, "the near were sent to first");
  }
  const std::size_t expected = zones.size() - 1;
  const bool everybody = b.outcome_status && !b.has_condition();
  if (crossings > expected || (everybody && crossings != expected))
    report(found, "zones are crossed Z-1 times", b,
           fmt::format("{} edges lead from zone to zone, of {} zones", crossings, zones.size()));
}

/// No member executes the last broadcast of a root while an earlier one runs.
void the_last_comes_last(const broadcast_record& b, violations& found) {
  if (b.overtook) report(found, "the last comes last", b, "an earlier one had not ended");
}

void check_result(const broadcast_record& b, const cluster& c, violations& found) {
  check_broadcast_times(b, c, found);
  check_policies(b, c, found);
  check_trace(b, found);
  check_stream(b, c, found);
  executed_did(b, found);
  not_reached_did_not(b, found);
  a_reboot_ends_nothing_unsent(b, found);
  nothing_begins_afterwards(b, found);
  excluded_did_not(b, found);
  too_much_is_refused(b, found);
  failed_did_not_contribute(b, found);
  merged_once(b, found);
  success_is_complete(b, found);
  unknown_has_a_reason(b, c, found);
  nothing_fails_by_itself(b, c, found);
  other_versions_do_not_execute(b, c, found);
  dissent_is_told(b, c, found);
  the_dead_are_treated_as_chosen(b, found);
  refusals_are_heard(b, found);
  what_fits_is_not_refused(b, found);
  the_honest_agree(b, found);
  the_last_comes_last(b, found);
  zones_are_crossed_once_each(b, c, found);
}

/// A broadcast for a client that is reported as never executed was not executed. Without faults the member
/// answers in time, unless it has no place.
void no_answer_is_true(const broadcast_record& b, const cluster& c, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (!b.may_have_executed && b.members[rank].begun != 0)
      report(found, "the answer is true", b, fmt::format("rank {} executed", rank));
  }
  const errc why = b.outcome_status ? errc::ok : b.outcome_status.error().code();
  if (c.faults().empty() && why != errc::busy && why != errc::deadline_exceeded)
    report(found, "nothing fails by itself", b, "its member does not answer");
}

/// Requests from nodes that are not the parent are refused.
void strangers_are_refused(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].begun != 0)
      report(found, "strangers are refused", b, fmt::format("rank {} executed", rank));
  }
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
    const bool asker_is_gone = b.client != nullptr && b.client->crashed;
    if (number >= cluster::first_roll_call || b.ended_by_crash || b.root->crashed || asker_is_gone) continue;
    if (b.stream && b.stream->left) continue;  // nobody has heard of its end
    if (b.done && b.is_unanswered()) {
      no_answer_is_true(b, c, found);
    } else if (b.done) {
      check_result(b, c, found);
    } else {
      report(found, "every await ends", b, "it has not");
    }
  }
}

void check_roll_call(const cluster& c, violations& found) {
  for (auto it = c.broadcasts().lower_bound(cluster::first_roll_call); it != c.broadcasts().end(); ++it) {
    const broadcast_record& b = it->second;
    if (!b.done || !b.outcome_status)
      report(found, "everybody answers the roll call", b, b.done ? "failed" : "not done");
  }
}

}  // namespace scoll::sim
