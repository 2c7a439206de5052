#include "transport/verbs/slot_credit.hpp"

#include "scoll/coro/mutants.hpp"

namespace scoll::transport::verbs {

std::uint32_t slot_budget::grow(std::uint32_t window, std::uint32_t most) noexcept {
  if (SCOLL_MUTANT(verbs_places_promised_twice, "a device promises more places than it posts")) return most;
  const std::uint32_t room = granted_ < growable_ ? growable_ - granted_ : 0;
  const std::uint32_t more = std::min({window, most > window ? most - window : 0, room});
  granted_ += more;
  return more;
}

}  // namespace scoll::transport::verbs
