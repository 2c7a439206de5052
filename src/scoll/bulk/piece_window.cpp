#include "scoll/bulk/piece_window.hpp"

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

bool piece_window::may_pass() const noexcept {
  const std::uint64_t b = bit(front_);
  const auto has = [&](const reader& r) { return (r.has & b) != 0; };
  return front_ + slots_ < pieces_ && (seen_ & b) != 0 && (sent_ & b) == 0 &&
         (std::ranges::all_of(readers_, has) ||
          SCOLL_MUTANT(slot_reused_early, "a slot is used again before its readers have the piece"));
}

}  // namespace scoll::detail
