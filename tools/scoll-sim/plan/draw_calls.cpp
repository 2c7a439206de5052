#include <algorithm>

#include "tools/scoll-sim/plan/draft.hpp"

// Shipped calls, some of which move bulk data.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t first_haul = 100'000;  // numbers of the calls that carry descriptors

/// Half of the sizes are small; some are around the eager limit, and some exceed the allowed size.
std::uint64_t call_bytes(draws& random) {
  const std::uint64_t which = random.below(16);
  if (which < 9) return random.between(0, 280);
  if (which < 13) return random.between(280, 1'200);
  return which < 15 ? random.magnitude(1'000, 20'000) : random.magnitude(10'000, 60'000);
}

/// Draws sizes around the limits at which segments travel in another way.
std::uint64_t haul_bytes(draws& random) {
  constexpr std::uint64_t limits[]{400, 9'000, 24'000, 80'000, 80'000, 80'000};
  const std::uint64_t bytes = 1 + random.below(random.one_of(limits));
  return random.chance(1, 24) ? 0 : bytes;
}

/// Draws a fault that hits the middle of a haul if its time is lucky: either bytes are altered, or the haul
/// has to continue on another connection, or it loses its transport.
void draw_disturbance(draft& d, draws& random, nanoseconds at, std::uint32_t from, std::uint32_t to) {
  if (random.chance(1, 2)) std::swap(from, to);
  const nanoseconds soon = from_us(std::uint64_t{1} << random.below(13));
  const auto frames = static_cast<std::uint32_t>(1 + random.below(12));
  const std::uint64_t lasts = random.magnitude(1'000, 6'000'000);
  if (d.has().two_rails && random.chance(1, 4)) {
    d.add(at + soon, events::bulk_outage{from, to, as_us(lasts)});
  } else if (random.chance(1, 3)) {
    d.add(at + soon, events::corrupt{from, to, 1});
  } else {
    d.add(at, events::cut_after{from, to, frames});
  }
}

}  // namespace

void draw_call(draft& d, std::uint64_t number, nanoseconds at, std::uint32_t from, std::uint32_t to,
               bool rush) {
  draws random = d.stream("call", number);
  const std::uint64_t bytes = call_bytes(random);
  const std::uint64_t back = call_bytes(random);
  const bool lasting = random.chance(1, 16);  // it runs until it is stopped
  std::uint64_t work = random.chance(1, 2) ? 0 : random.magnitude(10, 100'000);
  if (rush) work = random.between(20'000, 100'000);
  if (lasting) work = 60'000'000;
  std::uint64_t behaviour = 0;
  for (std::uint64_t bit = 1; bit <= 64; bit *= 2) {
    if (random.chance(1, 12)) behaviour |= bit;
  }
  if (lasting) behaviour &= 16 + 64;
  const bool timed = random.chance(2, 5);
  const std::uint64_t time = random.magnitude(100, 2'000'000);
  d.add(at, events::call{number, from, to, bytes, as_us(work), as_us(timed ? time : 0), behaviour, back});
  if (!random.chance(1, 12) && !lasting) return;
  // Some calls are stopped only when all faults are over. Their callers may be gone by then, and the nodes
  // that still work for them have to notice that.
  const bool last_of_all = lasting && random.chance(1, 2);
  const nanoseconds later = from_us(random.magnitude(1, 500'000));
  const nanoseconds end = std::max(at, d.beginning() + d.horizon);
  d.add((last_of_all ? end : at) + later, events::call_stop{number});
}

void draw_haul(draft& d, std::uint64_t number, nanoseconds at, std::uint32_t from, std::uint32_t to,
               bool disturbed) {
  draws random = d.stream("haul", number);
  const std::uint64_t bytes = haul_bytes(random);
  const std::uint64_t work = random.chance(1, 2) ? 0 : std::uint64_t{1} << random.below(15);
  const std::uint64_t time = random.chance(1, 4) ? std::uint64_t{100} << random.below(13) : 0;
  std::uint64_t behaviour = 0;
  for (std::uint64_t bit = 1; bit <= 32; bit *= 2) {
    if (random.chance(1, 10)) behaviour |= bit;
  }
  const std::uint64_t shape = random.next();
  d.add(at, events::haul{number, from, to, bytes, as_us(work), as_us(time), behaviour, shape});
  const std::uint64_t later = std::uint64_t{1} << random.below(17);
  if (disturbed && random.chance(1, 3)) draw_disturbance(d, random, at + from_us(work), from, to);
  if (random.chance(1, 6)) d.add(at + from_us(later), events::call_stop{number});
}

void draw_calls(draft& d) {
  if (!d.has().calls || d.hosts() < 2) return;
  draws random = d.stream("calls");
  const std::uint64_t wanted = d.mixed() ? random.between(60, 160) : random.between(300, 500);
  std::uint64_t number = 0;
  while (number < wanted) {
    nanoseconds at = d.beginning() + random.moment(milliseconds(5), d.horizon);
    const bool rush = random.chance(1, 25);  // more calls to one host than the tables of handlers hold
    std::uint64_t burst = random.chance(1, 3) ? random.between(2, 10) : 1;
    if (rush) burst = random.between(16, 48);
    const std::uint32_t from = d.host(random);
    const std::uint32_t to = d.other_than(from, random);
    for (std::uint64_t i = 0; i < burst && number < wanted; ++i) {
      const std::uint32_t other = d.other_than(from, random);
      draw_call(d, number++, at, from, rush ? to : other, rush);
      at += nanoseconds(static_cast<std::int64_t>(random.below(50'000)));
    }
  }
}

/// Clients have members of groups broadcast for them.
void draw_remote_broadcasts(draft& d) {
  if (!d.has().clients || d.groups.empty()) return;
  draws random = d.stream("remote broadcasts");
  const std::uint64_t wanted = random.between(20, 60);
  for (std::uint64_t number = 0; number < wanted; ++number) {
    const drawn_group& g = d.groups[random.below(d.groups.size())];
    const nanoseconds at =
        g.at + random.moment(milliseconds(5), std::max<nanoseconds>(d.horizon, milliseconds(6)));
    const std::uint64_t bytes = random.chance(1, 4) ? random.between(300, 4'000) : random.below(300);
    const std::uint64_t work = random.chance(1, 2) ? 0 : random.magnitude(10, 100'000);
    const std::uint64_t deadline = random.chance(1, 2) ? 0 : random.between(500'000, 3'000'000);
    const std::uint32_t client = d.host(random);
    const std::uint32_t rank = d.host(random);
    d.add(at, events::remote_bcast{number, g.number, client, rank, bytes, as_us(work), as_us(deadline)});
  }
}

/// Draws calls that carry descriptors, between a few hosts and sometimes in rushes, so that segments wait for
/// buffers and for their turn, and connections break while many segments are under way.
void draw_hauls(draft& d) {
  if (!d.has().bulk || d.hosts() < 2) return;
  draws random = d.stream("hauls");
  const std::uint64_t wanted = d.mixed() ? random.between(20, 60) : random.between(60, 120);
  const std::uint32_t first = d.host(random);
  const auto among = static_cast<std::uint32_t>(std::min<std::uint64_t>(d.hosts(), random.between(2, 5)));
  const bool disturbed =
      random.chance(1, 2) && d.swarm() && !d.has().outages && !d.has().rails_alone && !d.has().guards_alone;
  std::uint64_t number = first_haul;
  while (number < first_haul + wanted) {
    const nanoseconds at = d.beginning() + random.moment(milliseconds(5), d.horizon);
    const auto one = static_cast<std::uint32_t>(random.below(among));
    const auto other = static_cast<std::uint32_t>((one + 1 + random.below(among - 1)) % among);
    std::uint64_t burst = random.chance(1, 8) ? random.between(4, 15) : 1;
    for (; burst != 0 && number < first_haul + wanted; --burst)
      draw_haul(d, number++, at, (first + one) % d.hosts(), (first + other) % d.hosts(), disturbed);
  }
}

}  // namespace scoll::sim
