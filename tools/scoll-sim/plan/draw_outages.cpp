#include "tools/scoll-sim/plan/draft.hpp"

// Runs in which the transport of bulk data fails, and nothing else.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t first_call = 50'000;
constexpr std::uint64_t first_haul = 150'000;
constexpr std::uint64_t calls_each = 6;
constexpr std::uint64_t hauls_each = 5;

/// Two hosts lose the transport of their bulk data, some of which is under way, for a moment or for longer than
/// anybody waits for it. Meanwhile they call each other.
void draw_outage(draft& d, std::uint64_t number) {
  draws random = d.stream("outage", number);
  const std::uint32_t a = d.host(random);
  const std::uint32_t b = d.other_than(a, random);
  const nanoseconds at = d.beginning() + random.moment(milliseconds(20), d.horizon);
  const std::uint64_t brief_us = random.magnitude(500, 200'000);
  const std::uint64_t long_us = random.between(1'200'000, 4'000'000);
  const std::uint64_t lasts = random.chance(1, 2) ? brief_us : long_us;
  const std::uint64_t before = random.magnitude(10, 3'000);
  for (std::uint64_t i = 0; i < hauls_each; ++i) {
    const bool back = random.chance(1, 2);
    const nanoseconds later = i < 3 ? nanoseconds(0) : from_us(random.below(lasts));
    draw_haul(d, first_haul + number * hauls_each + i, at - from_us(before) + later, back ? b : a,
              back ? a : b, false);
  }
  d.add(at, events::bulk_outage{a, b, as_us(lasts)});
  for (std::uint64_t i = 0; i < calls_each; ++i) {
    const bool back = random.chance(1, 2);
    const nanoseconds later = from_us(random.below(lasts + 500'000));
    draw_call(d, first_call + number * calls_each + i, at + later, back ? b : a, back ? a : b, false);
  }
}

}  // namespace

void draw_outages(draft& d) {
  if (!d.has().outages) return;
  draws random = d.stream("outages");
  const std::uint64_t wanted = 4 + random.below(8);
  for (std::uint64_t i = 0; i < wanted; ++i) draw_outage(d, i);
}

}  // namespace scoll::sim
