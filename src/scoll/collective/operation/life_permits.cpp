#include "scoll/collective/operation/life_permits.hpp"

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

life_tag life_permits::give(std::uint32_t relative, bool untouched, life_tag known) noexcept {
  life_tag& given = given_[relative];
  if (untouched || SCOLL_MUTANT(permit_given_twice, "a member that may have executed is asked in any life"))
    return given = known;
  return given = given == for_any_life ? for_no_life : given;
}

}  // namespace scoll::detail
