#include "gossip/member/agreement.hpp"

#include <algorithm>

namespace scoll::gossip {
namespace {

constexpr std::uint32_t full_quorum = 3;

}  // namespace

claim claim_of(const configuration& shared) noexcept {
  const auto interval = std::chrono::duration_cast<std::chrono::milliseconds>(shared.interval());
  return {shared.version(), static_cast<std::uint32_t>(interval.count()), shared.size(),
          shared.participants_digest()};
}

parameter difference(const claim& own, const claim& other) noexcept {
  if (own.version != other.version) return parameter::version;
  if (own.interval_ms != other.interval_ms) return parameter::interval;
  if (own.participants != other.participants || own.list != other.list) return parameter::participants;
  return parameter::none;
}

agreement::agreement(std::uint32_t participants) noexcept
    : quorum_(std::clamp<std::uint32_t>(participants - 1, 1, full_quorum)) {}

agreement::outcome agreement::hear(participant_index from, bool agrees, bool established,
                                   bool in_full) noexcept {
  remember(from, agrees);
  std::uint32_t heard = 0, agreeing = 0;
  for (const opinion& o : opinions_) {
    heard += o.from != nobody;
    agreeing += o.from != nobody && o.agrees;
  }
  if (agreeing >= quorum_) established_ = true;
  if (agrees) return outcome::agrees;
  if (!established_ && established && in_full) return outcome::stop;
  const bool most_disagree = heard >= quorum_ && 2 * agreeing < heard;
  return most_disagree && in_full ? outcome::stop : outcome::differs;
}

void agreement::remember(participant_index from, bool agrees) noexcept {
  const auto same =
      std::find_if(opinions_.begin(), opinions_.end(), [&](const opinion& o) { return o.from == from; });
  if (same != opinions_.end()) {
    same->agrees = agrees;
    return;
  }
  opinions_[next_] = {from, agrees};
  next_ = (next_ + 1) % remembered;
}

}  // namespace scoll::gossip
