#include "scoll/bulk/landing.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

bulk_landing::bulk_landing(transport::endpoint& at, bulk_landing_events& events)
    : endpoint_(at), events_(events) {}

bulk_landing::~bulk_landing() = default;

void bulk_landing::begin(const bulk_destination& into, const bulk_intake& intake,
                         std::span<const std::uint32_t> ancestors) {
  SCOLL_ASSERT(!intake_, "a landing is for one object at a time");
  for (auto& o : orders_) {
    if (o == nullptr) o = std::make_unique<order>(endpoint_, *this);
  }
  into_ = into;
  intake_ = intake;
  missing_ = into.pieces.count();
  limit_ = into.in_slots ? static_cast<std::uint32_t>(into.place.size()) : missing_;
  orders_up_ = 0;
  why_lost_ = {};
  under_way_ = by_plan_ = 0;
  ends_.assign(into.place);
  pieces_.assign(missing_, piece_state::planned);
  checksums_.assign(into.whole ? missing_ : 0, 0);
  rising_.clear();
  givers_.clear();
  ancestors_.clear();
  intake.for_each_source([&](std::uint32_t member) { find_giver(member, 0); });
  planned_ = givers_.size();
  for (const std::uint32_t member : ancestors) ancestors_.push_back(find_giver(member, intake.rounds()));
  for (std::size_t i = 0; intake_ && i < planned_; ++i) want(givers_[i]);
}

/// Returns the index of a member among the givers. A new one gives planned pieces from that round on.
std::uint32_t bulk_landing::find_giver(std::uint32_t member, std::uint32_t from_round) {
  const auto found = std::ranges::find(givers_, member, &giver::member);
  const auto index = static_cast<std::uint32_t>(found - givers_.begin());
  if (found == givers_.end()) {
    giver& added = givers_.emplace_back();
    added.member = member;
    added.next_round = from_round;
  }
  return index;
}

void bulk_landing::want(giver& g) {
  if (g.state != access::unasked) return;
  g.state = access::asked;
  events_.on_wanted(g.member);
}

bulk_landing::giver* bulk_landing::awaited(std::uint32_t member) {
  if (!intake_) return nullptr;
  const auto found = std::ranges::find(givers_, member, &giver::member);
  return found == givers_.end() || found->state == access::lost ? nullptr : &*found;
}

void bulk_landing::source_ready(std::uint32_t member, transport::session& to,
                                const transport::region_descriptor& from) {
  giver* const g = awaited(member);
  if (g == nullptr || g->state == access::ready) return;
  g->state = access::ready;
  g->to = &to;
  g->from = from;
  pump();
}

void bulk_landing::source_lost(std::uint32_t member, const error& why) {
  giver* const g = awaited(member);
  if (g == nullptr) return;
  lose(*g, why);
  pump();
}

void bulk_landing::allow(std::uint32_t limit) {
  limit_ = limit;
  pump();
}

void bulk_landing::rise(std::uint32_t piece) {
  if (!intake_) return;
  if (pieces_[piece] != piece_state::landed &&
      SCOLL_MUTANT(rise_unheard, "a member waits for its own source although a piece is ordered up from it"))
    return;
  switch (pieces_[piece]) {
    case piece_state::rising: return;
    case piece_state::landed: return publish(piece);
    case piece_state::planned: break;
    case piece_state::ordered: {
      order& o = *order_of(piece);
      if (o.level) return;
      give_back(o);
    }
  }
  go_up(piece, 0);
  pump();
}

void bulk_landing::end() noexcept {
  intake_.reset();
  for (auto& o : orders_) {
    if (o != nullptr && o->under_way()) give_back(*o);
  }
}

/// Sends orders as far as there is room. An answer of the owner may come from inside; then the loop outside
/// goes on.
void bulk_landing::pump() {
  again_ = true;
  if (std::exchange(pumping_, true)) return;
  while (std::exchange(again_, false)) {
    while (intake_ && under_way_ < most_orders && (order_rising() || order_planned())) {
    }
  }
  pumping_ = false;
}

/// Orders a piece that goes up. Returns false if there is none, or no room for one.
bool bulk_landing::order_rising() {
  for (std::size_t i = 0; intake_ && i < rising_.size(); ++i) {
    rising_piece& r = rising_[i];
    if (r.piece >= limit_) continue;
    giver* const g = ancestor_from(r.level, r.piece);
    if (g == nullptr || !g->has_room()) continue;
    const rising_piece next = r;
    rising_.erase(rising_.begin() + static_cast<std::ptrdiff_t>(i));
    send(next.piece, *g, next.level);
    return true;
  }
  return false;
}

/// Orders the next piece of the plan. What a lost member owes goes up.
bool bulk_landing::order_planned() {
  if (!intake_) return false;  // a piece that goes up has found nobody
  const bool room = by_plan_ + 1 < most_orders;
  // A member with several sources gets a piece from each one now and then. More orders at once would let a
  // source answer in another order than that of the rounds.
  static_assert(planned_orders(least_bulk_piece_bytes) < most_orders_to_one,
                "one is left to pieces that go up");
  const auto most_of_one = std::max<std::size_t>(
      2, planned_orders(into_.pieces.piece_bytes()) / std::max<std::size_t>(1, planned_));
  const bool all_lost =
      why_lost_ && SCOLL_MUTANT(all_pieces_rise, "who has lost one source orders all pieces up");
  const auto owes = [&](const giver& g) { return all_lost || g.state == access::lost; };
  giver* best = nullptr;
  for (giver& g : std::span(givers_).first(planned_)) {
    const bool goes =
        owes(g) ? rising_.size() < most_orders : room && g.by_plan < most_of_one && g.has_room();
    if (goes && planned_piece(g) && (best == nullptr || g.next_round < best->next_round)) best = &g;
  }
  if (best == nullptr) return false;
  const std::uint32_t piece = *planned_piece(*best);
  if (owes(*best)) {
    go_up(piece, 0);
  } else {
    send(piece, *best, {});
  }
  return true;
}

/// The next piece that a member gives by plan, and that is not on its way.
std::optional<std::uint32_t> bulk_landing::planned_piece(giver& g) const {
  for (; g.next_round < intake_->rounds(); ++g.next_round) {
    const auto fetch = intake_->fetch(g.next_round);
    if (!fetch || fetch->source != g.member || pieces_[fetch->piece] != piece_state::planned) continue;
    if (fetch->piece >= limit_) break;
    return fetch->piece;
  }
  return std::nullopt;
}

/// Returns the ancestor of that level, or the next one that is not lost. If there is none, the landing fails.
bulk_landing::giver* bulk_landing::ancestor_from(std::uint32_t& level, std::uint32_t piece) {
  const auto lost = [&] { return givers_[ancestors_[level]].state == access::lost; };
  while (level < ancestors_.size() && lost()) ++level;
  if (level == ancestors_.size()) {
    fail(piece);
    return nullptr;
  }
  giver& g = givers_[ancestors_[level]];
  want(g);
  return intake_ ? &g : nullptr;
}

void bulk_landing::fail(std::uint32_t piece) {
  // A member that has failed itself may have said which piece it misses.
  const error why =
      why_lost_.text().starts_with("piece ")
          ? why_lost_
          : make_error(why_lost_.code(), "piece {} of {}: {}", piece, pieces_.size(), why_lost_.text());
  end();
  events_.on_failed(why);
}

void bulk_landing::send(std::uint32_t piece, giver& from, std::optional<std::uint32_t> level) {
  const auto unused = std::ranges::find_if(orders_, [](const auto& o) { return !o->under_way(); });
  SCOLL_ASSERT(unused != orders_.end(), "there is an order for each one that may be under way");
  order& o = **unused;
  o.from = static_cast<std::uint32_t>(&from - givers_.data());
  o.level = level;
  pieces_[piece] = piece_state::ordered;
  ++from.under_way;
  ++under_way_;
  from.by_plan += !level;
  by_plan_ += !level;
  orders_up_ += level.has_value();
  o.begin(*from.to, from.from, piece, into_.pieces.piece_bytes(), memory_of(piece), level.has_value());
}

void bulk_landing::order::ended(piece_order& o) noexcept {
  auto& self = static_cast<order&>(o);
  self.landing->heard(self);
}

void bulk_landing::heard(order& o) {
  giver& g = givers_[o.from];
  count_off(o);
  const std::uint32_t piece = o.piece();
  const bool differs = !o.outcome() && o.outcome().error() == errc::checksum_mismatch;
  if (o.outcome() || (differs && SCOLL_MUTANT(piece_published_unchecked,
                                              "a piece is published that differs from its checksum"))) {
    land(piece, o.checksum());
  } else if (o.outcome().error() == errc::stale) {
    // The member has passed the piece on. The next ancestor may still have it.
    why_lost_ = o.outcome().error();
    const bool parent = !ancestors_.empty() && ancestors_.front() == o.from;
    go_up(piece, o.level ? *o.level + 1 : static_cast<std::uint32_t>(parent));
  } else {
    go_up(piece, o.level.value_or(0));
    lose(g, o.outcome().error());
  }
  pump();
}

void bulk_landing::land(std::uint32_t piece, std::uint64_t checksum) {
  pieces_[piece] = piece_state::landed;
  --missing_;
  if (!into_.whole) {
    into_.region->publish(piece, checksum);
  } else {
    checksums_[piece] = checksum;
    for (std::uint32_t p = 0; missing_ == 0 && p < pieces_.size(); ++p) publish(p);
  }
  events_.on_landed(piece);
}

/// Publishes a landed piece of an object that is to be published as a whole.
void bulk_landing::publish(std::uint32_t piece) {
  if (into_.whole && !into_.region->published(piece)) into_.region->publish(piece, checksums_[piece]);
}

/// The member gives nothing more. What was ordered from it goes up, and so does what it still owes by plan.
void bulk_landing::lose(giver& g, const error& why) {
  if (g.state == access::lost) return;
  g.state = access::lost;
  why_lost_ = why;
  const auto index = static_cast<std::uint32_t>(&g - givers_.data());
  for (auto& o : orders_) {
    if (!o->under_way() || o->from != index) continue;
    give_back(*o);
    go_up(o->piece(), o->level.value_or(0));
  }
}

void bulk_landing::go_up(std::uint32_t piece, std::uint32_t level) {
  pieces_[piece] = piece_state::rising;
  rising_.push_back({piece, level});
}

void bulk_landing::give_back(order& o) noexcept {
  o.take_back();
  count_off(o);
}

void bulk_landing::count_off(order& o) noexcept {
  giver& g = givers_[o.from];
  --g.under_way;
  --under_way_;
  g.by_plan -= !o.level;
  by_plan_ -= !o.level;
}

bulk_landing::order* bulk_landing::order_of(std::uint32_t piece) noexcept {
  const auto found =
      std::ranges::find_if(orders_, [&](const auto& o) { return o->under_way() && o->piece() == piece; });
  return found == orders_.end() ? nullptr : found->get();
}

std::span<const std::span<std::byte>> bulk_landing::memory_of(std::uint32_t piece) {
  spans_.clear();
  if (into_.in_slots) {
    spans_.push_back(into_.place[piece % into_.place.size()].first(into_.pieces.size(piece)));
    return spans_;
  }
  const std::uint64_t begin = into_.pieces.offset(piece);
  std::size_t left = into_.pieces.size(piece);
  std::size_t at = ends_.span_of(begin);
  std::size_t skip = static_cast<std::size_t>(begin - ends_.begin_of(at));
  for (; left != 0; ++at, skip = 0) {
    SCOLL_ASSERT(at < into_.place.size(), "the place has exactly the size of the object");
    const std::span<std::byte> rest = into_.place[at].subspan(skip);
    spans_.push_back(rest.first(std::min(rest.size(), left)));
    left -= spans_.back().size();
  }
  return spans_;
}

}  // namespace scoll::detail
