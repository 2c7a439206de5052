#include "tools/scoll-sim/plan/draft.hpp"

// What broadcasts do when members fail: the workload `failures`.
namespace scoll::sim {

/// In half of the broadcasts some members are done at once and fail, while the others work for long.
void draw_policies(draft& d) {
  if (d.options().work != workload::failures) return;
  for (const drawn_broadcast& b : d.broadcasts) {
    draws random = d.stream("policy", b.number);
    events::policy chosen{b.number, random.chance(2, 3), d.half(random), as_us(0)};
    const std::uint64_t lingers = random.magnitude(20'000, 1'500'000);
    const number_set failing = d.half(random) & d.half(random) & chosen.hasty;
    if (random.chance(1, 2)) chosen.lingers = as_us(lingers);
    if (random.chance(1, 2)) d.add(nanoseconds(0), events::hooks{b.number, {}, failing, {}, {}});
    d.add(nanoseconds(0), chosen);
  }
}

}  // namespace scoll::sim
