#include "gossip/liveness/loss_estimate.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace scoll::gossip {
namespace {

// Fewer samples count as this many, so that one lost message is not a loss of one half.
constexpr std::uint32_t least_samples = 32;

}  // namespace

void loss_estimate::sent(participant_index to, std::uint64_t sequence, std::uint64_t clock) noexcept {
  pings_[next_] = {to, sequence, clock};
  next_ = (next_ + 1) % waited_for;
}

bool loss_estimate::answered(std::uint64_t sequence) noexcept {
  const auto found =
      std::find_if(pings_.begin(), pings_.end(), [&](const ping& p) { return p.sequence == sequence; });
  if (sequence == 0 || found == pings_.end()) return false;
  found->sequence = 0;
  sample(false);
  return true;
}

void loss_estimate::sample(bool lost) noexcept {
  lost_ = (lost_ << 1) | (lost ? 1U : 0U);
  samples_ = std::min(samples_ + 1, most_samples);
}

/// An exchange fails if either of its two messages is lost.
double loss_estimate::own() const noexcept {
  const double failed = std::popcount(lost_) / static_cast<double>(std::max(samples_, least_samples));
  return 1 - std::sqrt(1 - std::min(failed, 1.0));
}

double loss_estimate::value() const noexcept {
  return std::max(own(), others_);
}

}  // namespace scoll::gossip
