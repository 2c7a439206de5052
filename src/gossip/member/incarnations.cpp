#include "gossip/member/incarnations.hpp"

#include <algorithm>
#include <bit>

#include "scoll/coro/mutants.hpp"

namespace scoll::gossip {
namespace {

// A participant sends about three messages per cycle, so this is enough for twice the cycles that it takes to
// reach all.
constexpr std::uint32_t times_per_hop = 6;
// The lives sent in turn are 1/64 of a vector's entries, and at least a few.
constexpr std::uint32_t turn_share = 64;
constexpr std::uint32_t least_in_turn = 4;

}  // namespace

incarnations::incarnations(std::uint32_t participants)
    : known_(participants, 0),
      times_told_(times_per_hop * static_cast<std::uint32_t>(std::bit_width(participants))),
      in_turn_(std::max(participants / turn_share, least_in_turn)) {
  news_.reserve(most_told);
}

bool incarnations::learn(participant_index who, std::uint64_t incarnation, bool from_table) noexcept {
  const bool later = incarnation > known_[who] || (SCOLL_MUTANT(gossip_stale_incarnation) &&
                                                   incarnation != 0 && incarnation != known_[who]);
  if (!later) return false;
  known_[who] = incarnation;
  if (!from_table) announce(who);
  return true;
}

/// If there is no room, the news sent most often makes way, because all participants learn it in turn anyway.
void incarnations::announce(participant_index who) noexcept {
  const auto same = std::find_if(news_.begin(), news_.end(), [&](const news& n) { return n.who == who; });
  if (same != news_.end()) {
    same->times_left = times_told_;
  } else if (news_.size() < most_told) {
    news_.push_back({who, times_told_});
  } else {
    *std::min_element(news_.begin(), news_.end(), [](const news& a, const news& b) {
      return a.times_left < b.times_left;
    }) = {who, times_told_};
  }
}

std::size_t incarnations::tell(std::span<life> lives) noexcept {
  std::size_t count = 0;
  for (news& n : news_) {
    if (count == lives.size()) return count;
    lives[count++] = {n.who, known_[n.who]};
    --n.times_left;
  }
  std::erase_if(news_, [](const news& n) { return n.times_left == 0; });
  const auto participants = static_cast<std::uint32_t>(known_.size());
  for (std::uint32_t i = 0; i < std::min(in_turn_, participants) && count < lives.size(); ++i) {
    const participant_index who = next_in_turn_++ % participants;
    if (known_[who] != 0) lives[count++] = {who, known_[who]};
  }
  next_in_turn_ %= participants;
  return count;
}

void incarnations::received(std::uint32_t first, std::uint32_t lives) noexcept {
  if (first > asked_up_to_) return;
  const auto participants = static_cast<std::uint32_t>(known_.size());
  asked_up_to_ = std::max(asked_up_to_, std::min(first + lives, participants));
}

}  // namespace scoll::gossip
