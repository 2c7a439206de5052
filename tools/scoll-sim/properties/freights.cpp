#include <algorithm>
#include <vector>

#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/sources.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/cluster/job.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// What must hold for the bulk data of broadcasts.
namespace scoll::sim {
namespace {

/// Without faults, a member that does not return from a chunk may miss its own time, and nobody else does.
void check_patience(const broadcast_record& b, const freights::freight& f, violations& found) {
  if (f.about.standing.empty() || !f.about.altering.empty() || b.cancelled || !b.options.deadline.unlimited())
    return;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    const bool late = why.where == phase::bulk && why.what == errc::deadline_exceeded;
    if (late && b.account.state(rank) == member_state::failed && !f.about.standing.contains(rank))
      report(found, "who stands still keeps nobody waiting", b, fmt::format("rank {} was too late", rank));
  }
}

/// True if nothing has failed but members that alter what they have checked.
bool nothing_else_failed(const cluster& c) {
  return std::ranges::all_of(c.faults(), [](const fault_record& f) { return f.alters && f.bulk_only; });
}

/// True if nothing but the end of all work may end the bulk data of a broadcast.
bool has_its_time(const broadcast_record& b) {
  return !b.cancelled && b.options.deadline.unlimited();
}

/// True for a member that was not reached, or did not know the group as the root does: it cannot tell its sources that it
/// takes nothing of them.
bool is_mute(const broadcast_record& b, std::uint32_t rank) {
  const member_state s = b.account.state(rank);
  const cause& why = b.account.why(rank);
  const bool refused = why.where == phase::admission && why.what != errc::version_mismatch;
  return s == member_state::not_reached || s == member_state::unknown || refused || why.where == phase::none;
}

bool some_are_mute(const broadcast_record& b) {
  return std::ranges::any_of(b.addressed, [&](std::uint32_t rank) {
    return b.account.state(rank) != member_state::merged && is_mute(b, rank);
  });
}

/// Without faults, bulk data come in time, also to those who have to go up for them. Who passes pieces on and has a source
/// and a reader that say nothing waits half of its time for the one, and a second and more for the other.
void check_time(const broadcast_record& b, const freights::freight& f, violations& found) {
  const bool passes = !f.about.placeless.empty();
  if (f.misses_its_time() || !has_its_time(b) || (passes && some_are_mute(b))) return;
  for (const std::uint32_t rank : b.addressed) {
    const cause& why = b.account.why(rank);
    if (b.account.state(rank) == member_state::failed && why.where == phase::bulk &&
        why.what == errc::deadline_exceeded)
      report(found, "bulk data come in time", b, fmt::format("not to rank {}", rank));
  }
}

/// How often members may go up. Those may be lost that alter bytes, or that have not executed. For each piece that such a
/// member owes to another one, or to one below that, this one goes up once, and once more for each of its ancestors that may
/// be lost.
class rise_bounds {
 public:
  rise_bounds(const broadcast_record& b, const events::freight& f, const any_tree& tree)
      : b_(b),
        f_(f),
        tree_(tree),
        n_(static_cast<std::uint32_t>(b.addressed.size())),
        pieces_(bulk_pieces::divide(f.bytes, f.piece_bytes).value().count()),
        missed_(n_, std::vector<bool>(pieces_)) {
    const detail::bulk_routes routes(bulk_plan::unchecked(f.plan, f.radix), n_, pieces_, tree_);
    for (std::uint32_t r = 1; r < n_; ++r) {
      const detail::bulk_intake intake = routes.intake(r);
      for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
        if (may_be_lost(intake.source(piece))) miss(r, piece);
      }
    }
  }

  std::uint32_t rank_of(std::uint32_t r) const { return b_.addressed[to_rank(r, b_.root_place, n_)]; }
  std::uint32_t members() const { return n_; }
  std::ptrdiff_t most_of(std::uint32_t r) const {
    std::ptrdiff_t each = 1;
    for (std::uint32_t up = r; up != 0; up = tree_.parent(n_, up)) each += up != r && may_be_lost(up);
    return std::ranges::count(missed_[r], true) * each;
  }

 private:
  bool may_be_lost(std::uint32_t r) const {
    const std::uint32_t rank = rank_of(r);
    const member_state s = b_.account.state(rank);
    const bool took_part = s == member_state::merged || s == member_state::executed;
    return r != 0 && (f_.altering.contains(rank) || !took_part);
  }
  void miss(std::uint32_t r, std::uint32_t piece) {
    for (; r != 0; r = tree_.parent(n_, r)) missed_[r][piece] = true;
  }

  const broadcast_record& b_;
  const events::freight& f_;
  const any_tree& tree_;
  std::uint32_t n_;
  std::uint32_t pieces_;
  std::vector<std::vector<bool>> missed_;
};

/// Without faults, and if every member takes the request, only what a lost source owes goes up.
void check_rises(const broadcast_record& b, const freights::freight& f, violations& found) {
  // Whom an ancestor that refuses the request would have served, nobody counts.
  const auto refuses = [&](std::uint32_t rank) {
    const member_state state = b.account.state(rank);
    return state == member_state::not_reached || state == member_state::unknown ||
           b.account.why(rank).where == phase::admission;
  };
  if (std::ranges::any_of(b.addressed, refuses)) return;
  const auto tree = tree_of(b);
  const bool passes =
      !f.about.placeless.empty();  // a piece that has passed an ancestor comes from farther up
  if (!has_its_time(b) || b.failed_fast() || !f.about.standing.empty() || passes || !tree) return;
  const rise_bounds bounds(b, f.about, *tree);
  for (std::uint32_t r = 1; r < bounds.members(); ++r) {
    const auto risen = f.risen_of.find(bounds.rank_of(r));
    if (risen != f.risen_of.end() && risen->second > bounds.most_of(r))
      report(found, "only what a lost source owes goes up", b,
             fmt::format("rank {} ordered {} pieces up, {} are allowed", risen->first, risen->second,
                         bounds.most_of(r)));
  }
}

/// Without faults, nobody goes up if no member refuses anything, and places come back soon after the end.
void check_calm(const broadcast_record& b, const freights::freight& f, violations& found) {
  // With a deadline, a source may give up half of what is left of it before the broadcast comes to it.
  if (b.outcome_status && b.options.deadline.unlimited() && f.about.altering.empty() &&
      f.about.standing.empty() && f.wrong.risen != 0)
    report(found, "nobody goes up without a loss", b, fmt::format("{} orders did", f.wrong.risen));
  const bool all_know = f.about.standing.empty() && !some_are_mute(b) && !b.cancelled && !deaf(b.number);
  if (all_know && f.came_back > b.ended + long_way)
    report(found, "places come back in time", b,
           fmt::format("after {} us", (f.came_back - b.ended).count() / 1000));
}

}  // namespace

void check_freights(cluster& c, violations& found) {
  c.carried().look();
  if (c.carried().strangers().served != 0)
    found.push_back(
        {"strangers open nothing", fmt::format("{} got bulk data", c.carried().strangers().served)});
  for (const auto& [number, f] : c.carried().all()) {
    const auto say = [&, n = number](const char* property, std::uint32_t times, const char* what) {
      if (times != 0) found.push_back({property, fmt::format("broadcast {}: {} {}", n, times, what)});
    };
    say("bulk data arrives as it was sent", f.wrong.altered_chunks, "chunks did not");
    say("bulk data arrives as it was sent", f.wrong.early_executions, "members executed without all of it");
    say("who gets no bulk data is told", f.wrong.untold, "members were not");
    say("who gets no bulk data is told", f.wrong.mistold, "members executed all the same");
    say("a place that came back is left alone", f.wrong.touched, "were not");
    const auto b = c.broadcasts().find(number);
    // A further round goes another way, and asks members below some that take no part in it.
    const bool plain = b != c.broadcasts().end() && b->second.options.on_failure != repair;
    if (plain && b->second.done && nothing_else_failed(c)) {
      check_calm(b->second, f, found);
      check_patience(b->second, f, found);
      check_time(b->second, f, found);
      check_rises(b->second, f, found);
    }
  }
}

void check_freights_settled(const cluster& c, violations& found) {
  for (const life& l : c.all_lives()) {
    if (l.crashed || l.member == nullptr) continue;
    const std::size_t places = c.carried().places_of(l.number);
    const detail::engine::bulks& bulks = detail::node_access::engine(*l.member).bulk_data();
    if (places != 0) found.push_back({"places come back", fmt::format("host {} misses {}", l.host, places)});
    if (bulks.running() != 0 || bulks.reading() != 0) {
      found.push_back({"places come back", fmt::format("host {} has {} objects and {} readers", l.host,
                                                       bulks.running(), bulks.reading())});
    }
  }
}

}  // namespace scoll::sim
