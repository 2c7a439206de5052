#include "tools/scoll-sim/calls/errand_bulk.hpp"
#include "tools/scoll-sim/plan/draft.hpp"

// Runs in which the transport of bulk data fails, and nothing else.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t first_call = 50'000;
constexpr std::uint64_t first_haul_in_outages = 150'000;
constexpr std::uint64_t first_push = 190'000;
constexpr std::uint64_t calls_each = 6;
constexpr std::uint64_t hauls_each = 5;

/// True for a push of several large segments into memory that is given back while it arrives.
bool is_cut_short(const haul_shape& s) {
  return s.way == haul_way::push && s.twist == haul_twist::none && s.chunk == 0 && s.length > 20'000 &&
         s.deadline_us == 0 && s.withdrawn_after_us > 500 && s.withdrawn_after_us < 20'000;
}

/// Such pushes are rare among all hauls, so they are looked for.
void draw_push_cut_short(draft& d, std::uint64_t number, nanoseconds at, std::uint32_t from,
                         std::uint32_t to) {
  draws random = d.stream("push cut short", number);
  constexpr std::uint64_t exposed = 60'000;
  std::uint64_t shape = random.next();
  for (int tries = 0; tries < 2'000 && !is_cut_short(shape_of(shape, exposed)); ++tries)
    shape = random.next();
  d.add(at, events::haul{number, from, to, exposed, as_us(0), as_us(0), 0, shape});
}

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
    draw_haul(d, first_haul_in_outages + number * hauls_each + i, at - from_us(before) + later, back ? b : a,
              back ? a : b, false);
  }
  const std::uint64_t factor = random.magnitude(10, 1'000);
  if (random.chance(1, 2))
    d.add(at - 2 * from_us(before), events::bulk_narrow{a, b, factor, as_us(2 * before)});
  draw_push_cut_short(d, first_push + number, at - from_us(before), a, b);
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
