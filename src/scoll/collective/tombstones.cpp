#include "scoll/collective/tombstones.hpp"

#include <algorithm>
#include <iterator>

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

const tombstones::life* tombstones::find(node_id creator, std::uint64_t incarnation) const noexcept {
  const auto found = lives_.find({creator, incarnation});
  return found == lives_.end() ? nullptr : &found->second;
}

/// The life of a creator. A creator has few lives at one time; of more, the earliest is over.
tombstones::life& tombstones::of(node_id creator, std::uint64_t incarnation) {
  life& found = lives_[{creator, incarnation}];
  const auto first = lives_.lower_bound({creator, 0});
  auto last = first;
  std::size_t count = 0;
  for (; last != lives_.end() && last->first.first == creator; ++last) ++count;
  if (count > lives_of_a_creator) lives_.erase(&first->second == &found ? std::next(first) : first);
  return found;
}

const tombstones::stone* tombstones::find(const life& in, std::uint64_t counter) noexcept {
  const auto at = std::lower_bound(in.stones.begin(), in.stones.end(), counter,
                                   [](const stone& s, std::uint64_t c) { return s.counter < c; });
  return at != in.stones.end() && at->counter == counter ? &*at : nullptr;
}

group_ending tombstones::refusal_of(const group_id& id) const noexcept {
  if (const auto other = others_.find(id); other != others_.end()) return other->second;
  const life* const known = find(id.creator, id.incarnation);
  if (known == nullptr) return {};
  if (const stone* const s = find(*known, id.counter)) return {s->fate, s->by, s->reason, s->gone};
  if (known->said.covers(id.counter)) return {group_fate::destroyed, id.creator, 0};
  return {};
}

group_ending tombstones::end_of(node_id creator, std::uint64_t incarnation,
                                std::uint64_t counter) const noexcept {
  const auto other = others_.lower_bound({creator, incarnation, counter, {}});
  if (other != others_.end() && other->first.creator == creator && other->first.incarnation == incarnation &&
      other->first.counter == counter)
    return other->second;
  const life* const known = find(creator, incarnation);
  const stone* const s = known == nullptr ? nullptr : find(*known, counter);
  return s == nullptr ? group_ending{} : group_ending{s->fate, s->by, s->reason, s->gone};
}

group_ending tombstones::end_of_lasting(const group_id& id) const noexcept {
  const auto found = others_.find(id);
  return found == others_.end() ? group_ending{} : found->second;
}

counter_ranges tombstones::ended_of(node_id creator, std::uint64_t incarnation) const {
  std::vector<std::uint64_t> counters;
  if (const life* const known = find(creator, incarnation)) {
    for (const stone& s : known->stones) {
      if (s.gone) counters.push_back(s.counter);
    }
  }
  for (auto at = others_.lower_bound({creator, incarnation, 0, {}});
       at != others_.end() && at->first.creator == creator && at->first.incarnation == incarnation; ++at) {
    if (at->second.gone) counters.push_back(at->first.counter);
  }
  std::sort(counters.begin(), counters.end());
  counters.erase(std::unique(counters.begin(), counters.end()), counters.end());
  counter_ranges ended;
  for (const std::uint64_t counter : counters) add_counter(ended, counter);
  return ended;
}

bool tombstones::admits_creations(node_id creator, std::uint64_t incarnation) const noexcept {
  const life* const known = find(creator, incarnation);
  return known == nullptr || known->needed < most_of_life_;
}

/// Evicts a tombstone that no message needs. Returns false if there is none.
bool tombstones::make_room(life& in, std::size_t most) noexcept {
  if (in.stones.size() < most) return true;
  const bool any = SCOLL_MUTANT(tombstone_evicted, "a full list of tombstones loses one that is needed");
  const auto spare =
      std::find_if(in.stones.begin(), in.stones.end(), [&](const stone& s) { return any || !s.may_come; });
  if (spare == in.stones.end()) return false;
  if (spare->may_come) --in.needed;
  in.stones.erase(spare);
  return true;
}

bool tombstones::bury(const group_id& id, const group_ending& end, bool may_come) {
  life& in = of(id.creator, id.incarnation);
  if (in.said.covers(id.counter) || find(in, id.counter) != nullptr) return true;
  if (!make_room(in, most_of_life_)) return false;
  const auto at = std::lower_bound(in.stones.begin(), in.stones.end(), id.counter,
                                   [](const stone& s, std::uint64_t c) { return s.counter < c; });
  in.stones.insert(at, {id.counter, end.reason, end.by, end.fate, end.gone, may_come});
  if (may_come) ++in.needed;
  return true;
}

void tombstones::bury_other(const group_id& id, const group_ending& end) {
  const auto [at, added] = others_.try_emplace(id, end);
  at->second.gone |= end.gone;
  if (!added) return;
  order_.push_back(id);
  if (order_.size() <= most_others_) return;
  others_.erase(order_.front());
  order_.pop_front();
}

void tombstones::hear(node_id creator, std::uint64_t incarnation, const creation_statement& said) {
  life& in = of(creator, incarnation);
  // If two statements have the same bound, the later one names fewer exceptions.
  const bool later =
      said.below > in.said.below || (said.below == in.said.below && said.count < in.said.count);
  if (!later) return;
  in.said = said;
  const auto covered = std::remove_if(in.stones.begin(), in.stones.end(),
                                      [&](const stone& s) { return said.covers(s.counter); });
  in.stones.erase(covered, in.stones.end());
  in.needed = static_cast<std::size_t>(
      std::count_if(in.stones.begin(), in.stones.end(), [](const stone& s) { return s.may_come; }));
}

void tombstones::end_lives(node_id creator, std::uint64_t last_incarnation) noexcept {
  const auto first = lives_.lower_bound({creator, 0});
  auto last = first;
  while (last != lives_.end() && last->first.first == creator && last->first.second <= last_incarnation)
    ++last;
  lives_.erase(first, last);
}

std::size_t tombstones::size() const noexcept {
  std::size_t sum = 0;
  for (const auto& [id, known] : lives_) sum += known.stones.size();
  return sum;
}

}  // namespace scoll::detail
