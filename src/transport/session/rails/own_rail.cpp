#include "transport/session/rails/own_rail.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/mutants.hpp"

namespace scoll::transport {

bool own_rail::lost(node_id peer, time_point began, time_point now, const std::function<bool()>& all_of_two) {
  if (dead_ || in_doubt_) return false;
  const auto same = std::ranges::find(losses_, peer, &loss::peer);
  loss& place = same != losses_.end() ? *same : *std::ranges::min_element(losses_, {}, &loss::at);
  place = {peer, began, now};
  std::size_t count = 0;
  time_point latest{};
  for (const loss& each : losses_) {
    if (each.peer == 0 || now - each.at > within) continue;
    ++count;
    latest = std::max(latest, each.began);
  }
  const bool hasty = SCOLL_MUTANT(rails_own_by_one, "a rail is dead as soon as one peer has lost it");
  if (answered_left_ > latest || (count < peers_wanted - 1 && !hasty)) return false;
  if (count < peers_wanted && !hasty && !all_of_two()) return false;
  in_doubt_ = true;
  lost_by_ = count;
  since_ = now;
  last_began_ = latest;
  return true;
}

bool own_rail::settle(time_point now, nanoseconds patience) noexcept {
  if (!in_doubt_ || now - since_ < patience) return false;
  in_doubt_ = false;
  dead_ = true;
  since_ = next_try_ = now;
  pause_ = nanoseconds(0);
  return true;
}

bool own_rail::answered(time_point left) noexcept {
  answered_left_ = std::max(answered_left_, left);
  if (left <= (dead_ ? since_ : last_began_)) return false;
  if (in_doubt_ || dead_) losses_ = {};
  in_doubt_ = false;
  return std::exchange(dead_, false);
}

nanoseconds own_rail::turn(time_point now) noexcept {
  if (!dead_) return nanoseconds(0);
  if (now < next_try_) return next_try_ - now;
  pause_ = std::clamp(2 * pause_, first_pause, longest_pause);
  next_try_ = now + pause_;
  return nanoseconds(0);
}

}  // namespace scoll::transport
