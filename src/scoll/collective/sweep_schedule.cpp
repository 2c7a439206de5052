#include "scoll/collective/sweep_schedule.hpp"

#include <algorithm>
#include <vector>

#include "transport/wire/writer.hpp"

namespace scoll::detail {

/// Between nine and eleven tenths of the lease.
nanoseconds sweep_schedule::drawn_lease() noexcept {
  const auto fifth = static_cast<std::uint64_t>(lease_.count() / 5);
  return lease_ - lease_ / 10 + nanoseconds(static_cast<std::int64_t>(random_.below(fifth + 1)));
}

void sweep_schedule::watch(const creator_life& of, time_point now) {
  const auto [at, added] = watched_.try_emplace(of);
  if (added) at->second.due = now + drawn_lease();
}

time_point sweep_schedule::due() const noexcept {
  time_point first = never;
  for (const auto& [life, s] : watched_) first = std::min(first, s.due);
  return first;
}

std::optional<creator_life> sweep_schedule::next(time_point now) {
  const auto first = std::min_element(watched_.begin(), watched_.end(), [](const auto& a, const auto& b) {
    return a.second.due < b.second.due;
  });
  if (first == watched_.end() || first->second.due > now) return std::nullopt;
  state& s = first->second;
  s.due = now + drawn_lease();
  ++s.questions;
  ++s.open;
  return first->first;
}

void sweep_schedule::answered(const creator_life& of) noexcept {
  if (const auto at = watched_.find(of); at != watched_.end()) at->second.open = 0;
}

int sweep_schedule::unanswered(const creator_life& of) const noexcept {
  const auto at = watched_.find(of);
  return at == watched_.end() ? 0 : std::max(0, at->second.open - 1);
}

std::uint64_t sweep_schedule::questions(const creator_life& of) const noexcept {
  const auto at = watched_.find(of);
  return at == watched_.end() ? 0 : at->second.questions;
}

counter_ranges sweep_schedule::portion(const creator_life& of, const counter_ranges& held,
                                       std::size_t room_bytes) {
  const auto at = watched_.find(of);
  if (at == watched_.end()) return {};
  std::uint64_t& from = at->second.from;
  counter_ranges chosen;
  for (const counter_range& r : held) {
    if (r.last >= from) chosen.push_back({std::max(r.first, from), r.last});
  }
  if (chosen.empty()) chosen = held;
  std::vector<std::byte> scratch(room_bytes);
  wire::writer out(scratch);
  const std::size_t fitting = put_counters(out, chosen, room_bytes);
  from = fitting < chosen.size() ? chosen[fitting].first : 0;
  chosen.resize(fitting);
  return chosen;
}

}  // namespace scoll::detail
