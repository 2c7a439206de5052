#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "scoll/collective/binomial_graph.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// The properties of revokes: which members hear of them, what they end, and what they leave alone.
namespace scoll::sim {
namespace {

void report(violations& found, std::string_view property, const group_record& g, const std::string& what) {
  found.push_back({std::string(property), fmt::format("group {}: {}", g.number, what)});
}
void report_call(violations& found, std::string_view property, const errand_record& r,
                 const std::string& what) {
  found.push_back({std::string(property), fmt::format("call {} from host {}: {}; {}", r.number, r.from->host,
                                                      what, r.failure ? describe(r.failure) : "ok")});
}

std::shared_ptr<detail::group_state> held(const life& l, const group_record& g) {
  return g.id ? detail::node_access::engine(*l.member).find_group(*g.id) : nullptr;
}

/// True if a host without gossip stood still or was cut off after a moment for so long that notices to it are owed, and
/// are sent when it makes contact again, which it may never do.
bool is_owed_for_good(const cluster& c, std::uint32_t host, nanoseconds after) {
  constexpr nanoseconds grace = std::chrono::seconds(1);
  return !c.has_gossip() && std::ranges::any_of(c.faults(), [&](const fault_record& f) {
    return (f.stalls || f.cuts_off) && f.hosts.contains(host) && f.after(after) > grace;
  });
}

/// The members whose life at the time of the first revoke still runs and still holds the group. All others
/// count as dead, and so do those that a notice may never reach. If a service names the group, only members that held it at the time of the revoke count,
/// because a member that asks the service afterwards holds the group anew.
std::vector<const life*> holders(const cluster& c, const group_record& g) {
  std::vector<const life*> found;
  for (const std::uint32_t host : g.members) {
    const life* const l = c.alive(host);
    const revoke_record& first = g.first_revoke();
    const bool then = g.created_by_a_host() || std::ranges::find(first.holders, l) != first.holders.end();
    if (l != nullptr && l->started <= first.at && then && held(*l, g) != nullptr &&
        !is_owed_for_good(c, host, first.at))
      found.push_back(l);
  }
  return found;
}

/// If one member that holds the group has heard, all have, as long as fewer are dead than the graph bears.
void reaches_all(const cluster& c, const group_record& g, violations& found) {
  if (g.revokes.empty()) return;
  const auto n = static_cast<std::uint32_t>(g.members.size());
  const auto all = holders(c, g);
  const auto heard = [&](const life* l) { return held(*l, g)->revoked != nullptr; };
  if (n - all.size() >= detail::binomial_degree(n) || std::none_of(all.begin(), all.end(), heard)) return;
  for (const life* const l : all) {
    if (!heard(l)) report(found, "a revoke reaches all", g, fmt::format("host {} has not heard", l->host));
  }
}

/// A group that nobody has revoked, nor one within which it is, is revoked nowhere.
void others_are_untouched(const cluster& c, violations& found) {
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    const life* const l = c.alive(host);
    if (l == nullptr) continue;
    for (const auto& [number, g] : c.groups()) {
      const auto state = g.is_revoked() ? nullptr : held(*l, g);
      if (state != nullptr && state->revoked != nullptr)
        report(found, "others are untouched", g, fmt::format("it is revoked on host {}", host));
    }
  }
}

void others_are_untouched(const broadcast_record& b, violations& found) {
  if (b.group->is_revoked()) return;
  const bool revoked = std::any_of(b.account.causes().begin(), b.account.causes().end(),
                                   [](const cause& why) { return why.what == errc::revoked; });
  if (revoked || (!b.outcome_status && b.outcome_status.error() == errc::revoked))
    report(found, "others are untouched", b, "a revoke of another group has ended it");
}

/// No member begins to execute once it knows of the revoke.
void nothing_begins_here(const broadcast_record& b, violations& found) {
  for (std::uint32_t rank = 0; rank < b.members.size(); ++rank) {
    if (b.members[rank].after_revoke)
      report(found, "nothing begins after a revoke here", b, fmt::format("rank {} executed", rank));
  }
}

/// All work that the revoking life has begun in the group ends in that turn, with the same error.
void ends_at_once(const broadcast_record& b, violations& found) {
  for (const revoke_record& r : b.group->revokes) {
    if (r.by != b.root || b.began > r.at || b.ended < r.at || !r.done) continue;
    const nanoseconds pause =
        b.stream ? b.stream->how.pause : nanoseconds(0);  // of a reader, who hears later
    if (b.ended > r.at + one_turn + pause)
      report(found, "a revoke ends at once", b, fmt::format("after {} us", (b.ended - r.at).count() / 1000));
  }
}

bool is_end(errc code) {
  return code == errc::cancelled || code == errc::deadline_exceeded || code == errc::unknown_group ||
         code == errc::closed || code == errc::revoked;
}

/// True for a state that its reporter has written because it had ended early itself. Where the end has a reason
/// of its own, the state has its words.
bool is_written_at_an_end(const cause& c) {
  constexpr std::array<std::string_view, 10> words{
      "no answer in time",
      "execute has not returned",
      "there was no time to begin execute",
      "not all of the bulk data has come in time",
      "finish has not returned",
      "nobody waits for finish",
      "on_reply has not returned",
      "the parent has ended the broadcast",
      "the group has been destroyed",
      "this node is shutting down",
  };
  const bool by_a_node = c.where == phase::execute || c.where == phase::delivery;
  const bool says_so = c.what == errc::revoked || std::ranges::find(words, c.what.text()) != words.end();
  return by_a_node && says_so && is_end(c.what.code());
}

/// True if a broadcast that fails fast may have ended because a member was too late.
bool failed_by_delay(const broadcast_record& b) {
  return b.failed_fast() && std::ranges::any_of(b.account.causes(), [&](const cause& why) {
           return why.reporter != b.root_rank && why.what == errc::deadline_exceeded;
         });
}

/// A root that was cancelled long before its time was over says so, unless a member was too late before.
void a_cancel_is_the_end(const broadcast_record& b, violations& found) {
  if (b.cancelled && !failed_by_delay(b) && b.outcome_status.error() == errc::deadline_exceeded &&
      b.cancelled_at + long_way < b.began + b.bound && b.cancelled_at < b.ended)
    report(found, "one end", b, "it was cancelled before");
}

/// A broadcast ends for one reason, the first, and states that its root writes after that carry it. One that
/// fails fast has the failed member's error, and states that say that it was cancelled. Without a deadline each further
/// round has a time of its own, which may be over before all are. One that collects more than its limit says so, and
/// cancels the rest.
void has_one_end(const broadcast_record& b, const cluster& c, violations& found) {
  if (b.outcome_status) return;
  a_cancel_is_the_end(b, found);
  const errc why = b.outcome_status.error().code();
  const bool by_a_member = b.failed_fast() || b.has_condition();
  const bool by_a_round = is_repaired(b, c) && b.options.deadline.unlimited();
  for (const cause& of : b.account.causes()) {
    const bool hooks_own = of.what.text().empty();  // what a hook made of its stop token
    const bool own_state = is_end(why) && of.where == phase::execute && is_end(of.what.code()) && !hooks_own;
    const bool round_over = by_a_round && of.what == errc::deadline_exceeded;
    const bool over_limit = b.stream && why == errc::too_large && of.what == errc::cancelled;
    const bool other = of.what.code() != why && !by_a_member && !round_over && !over_limit;
    if (of.reporter == b.root_rank && other && (own_state || is_written_at_an_end(of)))
      report(found, "one end", b, fmt::format("a state says {}", describe(of.what)));
  }
}

/// The same holds for each member, whose states all carry the reason for which it has ended. In further rounds
/// a member may end for other reasons.
void members_have_one_end(const broadcast_record& b, const cluster& c, violations& found) {
  if (is_repaired(b, c)) return;
  std::map<std::uint32_t, errc> ends;
  for (const cause& of : b.account.causes()) {
    if (of.reporter == b.root_rank || !is_written_at_an_end(of)) continue;
    const auto [first, is_first] = ends.emplace(of.reporter, of.what.code());
    if (!is_first && first->second != of.what.code())
      report(found, "one end", b,
             fmt::format("rank {} has ended for two reasons: {}", of.reporter, describe(of.what)));
  }
}

void check_call(const errand_record& r, const cluster& c, violations& found) {
  const auto g = r.through_group ? c.groups().find(r.within) : c.groups().end();
  if (g == c.groups().end() || !g->second.is_revoked()) {
    if (r.failure == errc::revoked) report_call(found, "others are untouched", r, "its group is not revoked");
    return;
  }
  for (const revoke_record& v : g->second.revokes) {
    if (v.by != r.from || r.began > v.at || r.ended < v.at || !v.done) continue;
    if (r.ended > v.at + (r.moves_bulk ? long_way : one_turn))
      report_call(found, "a revoke ends at once", r,
                  fmt::format("after {} us", (r.ended - v.at).count() / 1000));
  }
}

}  // namespace

void check_revokes(const cluster& c, violations& found) {
  for (const auto& [number, b] : c.broadcasts()) {
    nothing_begins_here(b, found);
    if (b.stray || !b.done || b.ended_by_crash || b.root->crashed) continue;
    others_are_untouched(b, found);
    ends_at_once(b, found);
    has_one_end(b, c, found);
    members_have_one_end(b, c, found);
  }
  for (const auto& [number, r] : c.calls().records()) {
    if (r.done && !r.ended_by_crash) check_call(r, c, found);
  }
}

void check_revokes_settled(cluster& c, violations& found) {
  for (const auto& [number, g] : c.groups()) reaches_all(c, g, found);
  others_are_untouched(c, found);
}

void check_revokes_are_prompt(cluster& c, violations& found) {
  if (!c.faults().empty()) return;
  for (const auto& [number, g] : c.groups()) {
    if (g.revokes.empty()) continue;
    const revoke_record& first = g.first_revoke();
    if (first.at + long_way > c.world().now() || c.world().now() > first.at + 4 * long_way) continue;
    if (held(*first.by, g) == nullptr || held(*first.by, g)->revoked == nullptr) continue;
    for (const life* const l : holders(c, g)) {
      if (held(*l, g)->revoked == nullptr)
        report(found, "a revoke is prompt", g, fmt::format("host {} has not heard in time", l->host));
    }
  }
}

}  // namespace scoll::sim
