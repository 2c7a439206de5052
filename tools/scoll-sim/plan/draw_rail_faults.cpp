#include "tools/scoll-sim/plan/draft.hpp"

// Rails of hosts that have several. One rail fails at a time, so that each pair of hosts always has another one.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

// Between two failures all rails come back and prove themselves.
constexpr std::uint64_t shortest_respite_us = 3'000'000;
constexpr std::uint64_t longest_respite_us = 8'000'000;
constexpr std::uint64_t most_failures = 5;

}  // namespace

void draw_rail_faults(draft& d) {
  if (d.has().rails < 2 || d.options().faults == fault_profile::none || d.quiet) return;
  draws random = d.stream("rail faults");
  nanoseconds at = d.beginning() + random.moment(milliseconds(20), d.horizon / 2);
  const std::uint64_t count = random.between(1, most_failures);
  constexpr rail_end ends[]{rail_end::silent, rail_end::one_way, rail_end::refused};
  for (std::uint64_t i = 0; i < count && at < d.beginning() + d.horizon; ++i) {
    const std::uint64_t lasts = random.magnitude(100'000, 4'000'000);
    const std::uint64_t respite = random.between(shortest_respite_us, longest_respite_us);
    const auto rail = static_cast<std::uint32_t>(random.chance(2, 3) ? 0 : random.below(d.has().rails));
    const bool is_switch = random.chance(1, 3);
    const rail_end how = random.one_of(ends);
    d.add(at, events::rail_down{d.host(random), rail, is_switch, how, as_us(lasts)});
    at += from_us(lasts + respite);
  }
}

}  // namespace scoll::sim
