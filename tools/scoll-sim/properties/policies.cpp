#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"

// What a broadcast chose to do about members that fail.
namespace scoll::sim {
namespace {

/// The time at which the first member had failed by itself, as far as its hook tells; nothing if none had.
std::optional<nanoseconds> first_failure(const broadcast_record& b) {
  std::optional<nanoseconds> first;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    const bool own = b.account.state(rank) == member_state::failed && why.where == phase::execute &&
                     why.reporter == rank && holds(b.request.failing, rank);
    const member_record& m = b.members[rank];
    if (own && why.what == errc::io_error && m.begun == 1)
      first = std::min(first.value_or(m.last_left), m.last_left);
  }
  return first;
}

/// Without faults, a broadcast that is to fail fast ends soon after the first failure: in one way up, and the
/// way down and up of the stop, unless hooks ignore that.
void fail_fast_is_fast(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || b.options.on_failure != fail_fast) return;
  const auto failed = first_failure(b);
  if (!failed) return;
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto levels = any_tree::resolve(b.group->tree, n)->subtree_levels(n, 0);
  const nanoseconds for_the_deaf = deaf(b.number) ? longest_way(levels, nanoseconds(0)) : nanoseconds(0);
  if (b.ended > *failed + long_way + for_the_deaf)
    report(found, "fail fast is fast", b,
           fmt::format("it ended {} us after a failure", (b.ended - *failed).count() / 1000));
}

/// The status of a broadcast that failed fast is the cause of one of its members, or of an end from outside.
void fail_fast_tells_the_cause(const broadcast_record& b, violations& found) {
  if (!b.failed_fast() || b.account.members() == 0) return;
  const error& why = b.outcome_status.error();
  const bool told = std::ranges::any_of(b.account.causes(), [&](const cause& of) {
    return of.what == why || of.what.code() == why.code() || of.what == errc::incomplete;
  });
  const bool given = b.has_condition() && why == errc::incomplete;
  if (!told && !given && !is_early_end(why.code()))
    report(found, "fail fast tells the cause", b, "no member has that cause");
}

// ---- conditions

struct tally_of_quorum {
  std::uint32_t merged = 0;
  std::uint32_t open = 0;
  std::uint32_t needed = 0;
};

std::vector<tally_of_quorum> tallies(const broadcast_record& b) {
  std::vector<tally_of_quorum> found;
  const rank_set merged = b.account.merged(), open = b.account.pending();
  for (const quorum_set& set : b.sets)
    found.push_back({(merged & set.ranks).size(), (open & set.ranks).size(), set.members});
  if (b.sets.empty()) found.push_back({merged.size(), open.size(), b.options.until.members()});
  return found;
}

/// The await of a broadcast with a condition succeeds if and only if the condition holds over merged members, or
/// held too late, when a member had failed and the broadcast was to fail fast. It
/// ends as incomplete with pending members only if the condition cannot hold any more.
void a_condition_is_what_it_says(const broadcast_record& b, violations& found) {
  const auto all = tallies(b);
  const bool holds = std::ranges::all_of(all, [](const tally_of_quorum& t) { return t.merged >= t.needed; });
  const bool cannot =
      std::ranges::any_of(all, [](const tally_of_quorum& t) { return t.merged + t.open < t.needed; });
  const bool too_late = holds && b.failed_fast();
  if (b.outcome_status.has_value() != holds && !too_late)
    report(found, "a condition is what it says", b, holds ? "it holds" : "it does not hold");
  const bool refused =
      prepares(b.group->service) && b.counter % 16 == 7 && b.root_rank % 4 == 2;  // by `finish`
  if (!holds && !cannot && !refused && b.account.count(member_state::pending) != 0)
    report(found, "a condition is what it says", b, "it could still hold");
}

/// Without faults, the await ends soon after the work of the members that make the condition hold. Who cancels it hears
/// of replies with the acknowledgements.
void a_condition_is_met_soon(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || !b.outcome_status || prepares(b.group->service) || b.cancelled) return;
  nanoseconds latest{0};
  const auto time_of = [&](const rank_set& among, std::uint32_t needed) {
    std::vector<nanoseconds> done;
    among.for_each([&](std::uint32_t rank) {
      const member_record& m = b.members[rank];
      const bool lost = b.account.state(rank) == member_state::executed;  // its reply did not fit
      if (m.contributed == 1 && !lost && !holds(b.request.oversized, rank) && !holds(b.request.brimful, rank))
        done.push_back(m.last_left);
    });
    std::ranges::sort(done);
    latest = std::max(latest, needed <= done.size() ? done[needed - 1] : nanoseconds::max() / 2);
  };
  rank_set asked;
  for (const std::uint32_t rank : b.addressed) asked.append(rank, rank + 1);
  for (const quorum_set& set : b.sets) time_of(set.ranks & asked, set.members);
  if (b.sets.empty()) time_of(asked, b.options.until.members());
  if (b.ended > latest + long_way)
    report(found, "a condition is met soon", b,
           fmt::format("it ended {} us after the last work", (b.ended - latest).count() / 1000));
}

/// What becomes of pending members is known at the end, it is true, and it changes nothing that was known.
void the_rest_is_true(const broadcast_record& b, violations& found) {
  if (!b.rest_done) return report(found, "stragglers end", b, "the rest has not ended");
  if (b.value_changed) report(found, "the value handed out does not change", b, "it did");
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    const member_state then = b.account.state(rank), now = b.rest.state(rank);
    const member_record& m = b.members[rank];
    const bool was_open = then == member_state::pending;
    const bool ran = now == member_state::merged || now == member_state::executed;
    if (was_open ? now == member_state::merged || now == member_state::pending : now != then)
      report(found, "the rest is true", b, fmt::format("rank {} is {} then", rank, to_string(now)));
    if ((ran && m.contributed != 1) || (now == member_state::not_reached && m.begun != 0))
      report(found, "the rest is true", b, fmt::format("rank {} is not {}", rank, to_string(now)));
  }
}

/// Without faults, stragglers end soon after their group was revoked, or its end was asked for; if hooks ignore that,
/// when the time for an abort is over.
void stragglers_end(const broadcast_record& b, const cluster& c, violations& found) {
  if (!c.faults().empty() || !b.rest_done || b.account.count(member_state::pending) == 0) return;
  const group_record& g = *b.group;
  nanoseconds over = nanoseconds::max();
  if (!g.revokes.empty()) over = g.first_revoke().at;
  if (!g.enders.empty()) over = std::min(over, g.asked);
  if (over == nanoseconds::max()) return;
  over = std::max(over, b.ended);
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const nanoseconds for_the_deaf = longest_way(tree_of(b)->subtree_levels(n, 0), nanoseconds(0));
  if (b.rest_ended > over + 2 * long_way + (deaf(b.number) ? for_the_deaf : nanoseconds(0)))
    report(found, "stragglers end", b,
           fmt::format("{} us after the group", (b.rest_ended - over).count() / 1000));
}

// ---- repair

/// True if a fault may have kept a member, or the root, from hearing or answering; or from getting bulk data.
bool is_touched(const broadcast_record& b, const cluster& c, std::uint32_t rank, bool bulk) {
  number_set both = number_set::of(b.root->host);
  both.insert(b.group->members[rank]);
  return std::ranges::any_of(c.faults(), [&](const fault_record& f) {
    return (bulk || !f.spares_messages()) && !(f.hosts & both).empty() && f.from <= b.ended &&
           f.until >= b.began;
  });
}

/// True if it has ended before its members were settled, or somebody ended it.
bool ended_early(const broadcast_record& b) {
  const bool early = !b.outcome_status && is_early_end(b.outcome_status.error().code());
  return early || b.cancelled || is_revoked(b) || b.group->is_ending();
}

/// True if the quarter of a deadline that is kept for further rounds is too short for one.
bool has_no_time_for_rounds(const broadcast_record& b) {
  const nanoseconds given = b.options.deadline.left({});
  return given != nanoseconds::max() &&
         given / 4 < rtt_estimate + longest_way(1, std::chrono::microseconds(b.request.work_us));
}

/// True if the member has not executed because nobody gave it the bulk data, as the root does in a further round.
bool lacks_bulk(const broadcast_record& b, std::uint32_t rank) {
  const cause& why = b.account.why(rank);
  const errc what = why.what.code();
  const bool lost = what == errc::stale_descriptor || what == errc::peer_died ||
                    what == errc::peer_rebooted || what == errc::connection_lost || what == errc::unreachable;
  return b.account.state(rank) == member_state::failed && why.where == phase::bulk && lost;
}

/// True if the hook of a member has ended before its time can have been over.
bool left_in_time(const broadcast_record& b, std::uint32_t rank) {
  constexpr nanoseconds shortest_bound = std::chrono::milliseconds(300);  // of all services
  const nanoseconds given = b.options.deadline.left({}), chosen = b.options.processing_bound;
  const nanoseconds bound = chosen.count() > 0 ? std::min(chosen, shortest_bound) : shortest_bound;
  return b.members[rank].last_left < b.began + std::min(given, bound) / 2;
}

/// True if members were short of memory for replies that are kept, as the root may be then, which asks nobody again; or
/// if they were not told the members of their group in time, which also delays the answers of others.
bool cannot_be_asked(const broadcast_record& b) {
  return std::ranges::any_of(b.account.causes(), [&](const cause& why) {
    const bool memory =
        why.what == errc::busy && why.what.text().find("node.repair_memory") != std::string_view::npos;
    const bool named_late = why.where == phase::admission && why.what == errc::deadline_exceeded;
    return memory || (b.group->mapped && named_late);
  });
}

/// A member that no fault has touched, nor the root, is found whatever befalls the others: it has executed once
/// and is merged, unless it has failed by itself, or the time was over.
void the_others_are_found(const broadcast_record& b, const cluster& c, violations& found) {
  if (b.options.on_failure != repair || ended_early(b)) return;
  if (has_no_time_for_rounds(b) || cannot_be_asked(b)) return;
  const bool creator_accused = c.was_accused(b.group->maker);  // then members may have dropped the group
  for (const std::uint32_t rank : b.addressed) {
    const member_state state = b.account.state(rank);
    const cause& why = b.account.why(rank);
    const bool lost =
        state == member_state::not_reached || state == member_state::unknown || lacks_bulk(b, rank);
    const bool begun =
        why.reporter != b.root_rank || why.where == phase::delivery;  // else the root has refused
    const bool bounded = why.what == errc::busy || why.what == errc::deadline_exceeded ||
                         why.what == errc::incomplete || !begun;
    const bool may_be_another = state == member_state::unknown && b.group->admits_new_lives() &&
                                !b.known.contains(rank);  // so it is asked what it has done, and no more
    const bool ended_there = why.what == errc::unknown_group && why.reporter == rank;
    const bool may_not_hold =
        ended_there || (state == member_state::unknown && (!b.group->known_to_all() || creator_accused));
    const bool missed = lost && !bounded && !may_be_another && !may_not_hold;
    if (missed && !is_touched(b, c, rank, lacks_bulk(b, rank)))
      report(found, "repaired", b, fmt::format("rank {} is {}", rank, to_string(state)));
  }
}

/// No parent that gives a member up stops its work: the reply is asked for in a further round. Only the end of the
/// broadcast or of the group does, and a member that holds the root dead.
void work_is_not_stopped(const broadcast_record& b, const cluster& c, violations& found) {
  const group_record& g = *b.group;
  const bool died = !g.lasting && g.creator != nullptr && g.creator->crashed &&
                    std::ranges::any_of(c.faults(), [&](const fault_record& f) {
                      return f.hosts.contains(g.maker) && f.from <= b.ended;
                    });
  const bool maker_gone = died || c.was_accused(g.maker);
  const bool may_be_gone = g.outer != nullptr || (g.created_by_a_host() && maker_gone);
  if (b.options.on_failure != repair || ended_early(b) || may_be_gone) return;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    const bool stopped = b.account.state(rank) == member_state::failed && why.where == phase::execute &&
                         why.what == errc::cancelled && why.reporter == rank;
    if (stopped && left_in_time(b, rank) && !c.has_accused(g.members[rank], b.root->host))
      report(found, "work is not stopped", b, fmt::format("rank {}", rank));
  }
}

/// A member knows what it has done as long as its root may ask. Only clocks that stand still, a new life, and the end
/// of the group there can outlast that. A delayed group comes back after its end if its creator lives.
void parts_are_kept(const broadcast_record& b, const cluster& c, violations& found) {
  const bool stalled =
      std::ranges::any_of(c.faults(), [&](const fault_record& f) { return f.stalls && f.until >= b.began; });
  const group_record& g = *b.group;
  const bool ended = g.admits_new_lives() && (g.is_ending() || (g.delayed && c.was_accused(g.maker)));
  if (b.options.on_failure != repair || stalled || ended) return;
  for (const std::uint32_t rank : b.addressed) {
    if (b.account.why(rank).what == errc::record_gone)
      report(found, "parts are kept", b, fmt::format("rank {} does not know", rank));
  }
}

}  // namespace

void check_policies(const broadcast_record& b, const cluster& c, violations& found) {
  fail_fast_is_fast(b, c, found);
  fail_fast_tells_the_cause(b, found);
  the_others_are_found(b, c, found);
  work_is_not_stopped(b, c, found);
  parts_are_kept(b, c, found);
  if (!b.has_condition()) return;
  a_condition_is_what_it_says(b, found);
  a_condition_is_met_soon(b, c, found);
  the_rest_is_true(b, found);
  stragglers_end(b, c, found);
}

}  // namespace scoll::sim
