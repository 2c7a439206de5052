#include "tools/scoll-sim/cluster/witnessed.hpp"

#include <algorithm>
#include <string_view>

#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"
#include "tools/scoll-sim/cluster/lopsided_tree.hpp"
#include "tools/scoll-sim/cluster/services.hpp"

namespace scoll::sim {
namespace {

bool merged(const broadcast_record& b, std::uint32_t rank) {
  return b.account.state(rank) == member_state::merged;
}

/// True if a member besides the root was merged.
bool reached_others(const broadcast_record& b) {
  return b.account.count(member_state::merged) > static_cast<std::uint32_t>(merged(b, b.root_rank));
}

bool has_cause(const broadcast_record& b, errc code, phase where) {
  return std::any_of(b.account.causes().begin(), b.account.causes().end(),
                     [&](const cause& why) { return why.what == code && why.where == where; });
}

void note_groups(const broadcast_record& b, coverage& seen) {
  if (!reached_others(b)) return;
  const group_record& g = *b.group;
  seen.saw(mark::adopted_group, g.adopted.has_value());
  seen.saw(mark::mapped_group, g.mapped.has_value());
  seen.saw(mark::created_group, g.created_by_a_host());
  seen.saw(mark::delayed_group, g.delayed);
  seen.saw(mark::pulled_members, g.large);
  seen.saw(mark::old_group, g.created_by_a_host() && b.began - g.created > 2 * sim_lease);
  seen.saw(mark::shrunk_group, g.shrunk_from.has_value());
  seen.saw(mark::outlived_creator, g.lasting && g.creator != nullptr && g.creator->crashed);
  seen.saw(mark::inner_group, g.outer != nullptr);
  seen.saw(mark::user_tree, g.tree.kind == lopsided_tree::kind);
  seen.saw(mark::greedy_tree, g.tree.kind == greedy::kind);
  const auto crosses = [](const member_record& m) { return m.crossings != 0; };
  const bool by_zone = g.tree.kind == zoned::kind && std::ranges::any_of(b.members, crosses);
  seen.saw(mark::zoned_tree, by_zone);
  seen.saw(mark::zoned_subset, by_zone && b.addressed.size() < b.members.size());
  seen.saw(mark::entities, b.value && b.value->entities != 0);
}

bool has_text(const broadcast_record& b, std::string_view text) {
  return std::any_of(b.account.causes().begin(), b.account.causes().end(),
                     [&](const cause& why) { return why.what.text().find(text) != std::string_view::npos; });
}

void note_refusals(const broadcast_record& b, coverage& seen) {
  seen.saw(mark::admission_full, has_text(b, "wait for admission"));
  seen.saw(mark::admission_late, has_text(b, "not known in time"));
  seen.saw(mark::membership_differs, has_cause(b, errc::membership_changed, phase::admission));
  seen.saw(mark::group_unknown, has_cause(b, errc::unknown_group, phase::admission));
  seen.saw(mark::view_differs, has_cause(b, errc::view_differs, phase::admission));
  seen.saw(mark::table_full, has_cause(b, errc::busy, phase::admission));
  const bool no_room = has_text(b, "left for parts of replies");
  seen.saw(b.stream ? mark::stream_memory_full : mark::parts_memory_full, no_room);
  seen.saw(mark::kept_memory_full, has_text(b, "left for replies that are kept"));
  seen.saw(mark::dead_refused, has_cause(b, errc::peer_died, phase::liveness));
  seen.saw(mark::oversized_reply, has_cause(b, errc::too_large, phase::reply));
  const bool revoked = !b.outcome_status && b.outcome_status.error() == errc::revoked;
  seen.saw(mark::revoked, revoked);
  seen.saw(mark::inner_revoked, revoked && b.group->revokes.empty());
  seen.saw(mark::failed_fast,
           b.failed_fast() && !b.cancelled && has_cause(b, errc::cancelled, phase::execute));
  seen.saw(mark::reply_refused, has_cause(b, errc::io_error, phase::reply));
}

/// Looks at a broadcast whose requests say which lives may execute.
void note_lives(const broadcast_record& b, coverage& seen) {
  if (!b.names_lives()) return;
  seen.saw(mark::lives_named, reached_others(b));
  for (const std::uint32_t rank : b.addressed) {
    const mark asked = b.known.contains(rank) ? mark::life_asked_again : mark::other_life_asked;
    seen.saw(asked, b.members[rank].by_another_round);
  }
}

void note_last(const broadcast_record& b, coverage& seen) {
  const group_record& g = *b.group;
  seen.saw(mark::after_the_last, b.too_late && !b.outcome_status && b.outcome_status.error() == errc::stale);
  if (!b.options.last || !reached_others(b)) return;
  seen.saw(mark::last_waited, b.waits);
  seen.saw(mark::last_ended_group, !g.enders.empty() && g.enders.back() == b.root);
}

void note_audience(const broadcast_record& b, coverage& seen) {
  const bool part = b.addressed.size() < b.members.size();
  seen.saw(mark::dissent, b.account.dissenting().members != 0);
  if (!reached_others(b)) return;
  seen.saw(mark::gossip_hold, b.held);
  if (part) seen.saw(b.manner.to == audience::chosen ? mark::hand_made_subset : mark::alive_subset);
  seen.saw(mark::dead_tried,
           b.options.dead == dead_members::try_others && (has_cause(b, errc::peer_died, phase::delivery) ||
                                                          has_cause(b, errc::peer_died, phase::admission)));
}

/// Looks at a member that does not understand the request: its children are merged all the same.
void note_relay(const broadcast_record& b, const any_tree& tree, std::uint32_t place, coverage& seen) {
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  std::uint32_t values = 0;
  auto cursor = tree.cursor(n, to_relative(place, b.root_place, n));
  for (auto child = cursor.next(); child; child = cursor.next())
    values += merged(b, b.addressed[to_rank(*child, b.root_place, n)]);
  seen.saw(mark::stream_passed_relay, b.stream && values != 0);
  seen.saw(mark::other_version, values != 0);
  seen.saw(mark::several_values, values > 1);
}

void note_freight(const broadcast_record& b, const freights::freight* load, coverage& seen) {
  if (load == nullptr) return;
  seen.saw(mark::freight, load->arrived && reached_others(b));
  seen.saw(mark::freight_spoiled, load->arrived && has_cause(b, errc::io_error, phase::bulk));
  seen.saw(mark::freight_without_place, has_cause(b, errc::invalid_argument, phase::prepare));
  seen.saw(mark::freight_passed, load->passed);
  seen.saw(mark::freight_left_behind, load->passed && !load->about.standing.empty() &&
                                          has_cause(b, errc::deadline_exceeded, phase::bulk));
  const auto lost = [](const cause& why) { return why.where == phase::bulk && why.what != errc::io_error; };
  seen.saw(mark::freight_beside_fault, load->arrived && std::ranges::any_of(b.account.causes(), lost));
}

void note_stream(const broadcast_record& b, coverage& seen) {
  if (!b.stream) return;
  const stream_record& s = *b.stream;
  seen.saw(mark::stream_left, s.left);
  seen.saw(mark::stream_held_back, s.waited);
  if (s.left) return;
  const bool several = reached_others(b) && s.taken > 1;
  seen.saw(s.how.collects ? mark::stream_collected : mark::streamed, several && b.outcome_status.has_value());
  seen.saw(mark::stream_over_limit, s.over);
  seen.saw(mark::stream_revoked,
           !b.outcome_status && b.outcome_status.error() == errc::revoked && s.taken != 0);
  for (const auto& [rank, count] : s.came)
    seen.saw(mark::stream_cut, !s.how.collects && b.account.state(rank) == member_state::unknown);
}

void note_hooks(const broadcast_record& b, coverage& seen) {
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const auto tree = tree_of(b);
  const nanoseconds given = b.options.processing_bound;
  for (std::uint32_t place = 0; tree && place < n; ++place) {
    const std::uint32_t rank = b.addressed[place];
    if (b.account.why(rank).what == errc::version_mismatch) note_relay(b, *tree, place, seen);
    if (rank == b.root_rank || !merged(b, rank)) continue;
    const member_record& m = b.members[rank];
    const bool beyond = given.count() != 0 && m.last_left - m.last_begun > given;
    seen.saw(mark::extended_bound, beyond && b.options.deadline.unlimited() && b.request.extend_us != 0);
    seen.saw(mark::brief_service, b.group->service == service_kind::brief);
    seen.saw(mark::brimful_reply, holds(b.request.brimful, rank));
  }
}

}  // namespace

/// A broadcast with a condition has ended.
void note_rest(const broadcast_record& b, coverage& seen) {
  const rank_set pending = b.account.pending();
  const bool early = b.outcome_status && !pending.empty() && reached_others(b);
  seen.saw(mark::quorum_early, early);
  seen.saw(mark::quorum_in_sets, early && !b.sets.empty());
  seen.saw(mark::quorum_failed, !b.outcome_status && !pending.empty());
  seen.saw(mark::late_executed, !(pending & b.rest.executed()).empty());
  const bool stopped =
      b.options.rest == stragglers::abort && !b.cancelled && !(pending & b.rest.failed()).empty();
  seen.saw(mark::stragglers_stopped, stopped);
}

/// A traced broadcast has ended, and so has its rest.
void note_trace(const broadcast_record& b, coverage& seen) {
  for (const trace_span& s : b.trace.spans()) {
    seen.saw(mark::traced, s.level > 1);
    for (const trace_link& to : s.children) {
      const trace_span* const child = b.trace.find(to.rank);
      seen.saw(mark::trace_silent, !to.answered);
      const bool fills = child != nullptr && child->arrived == to.sent && child->answered == *to.answered;
      seen.saw(mark::trace_shortened, fills && child->error > s.error);
    }
  }
}

void note_witnessed(const broadcast_record& b, const freights::freight* load, coverage& seen) {
  note_groups(b, seen);
  note_refusals(b, seen);
  note_last(b, seen);
  note_lives(b, seen);
  note_audience(b, seen);
  note_hooks(b, seen);
  note_freight(b, load, seen);
  note_stream(b, seen);
}

}  // namespace scoll::sim
