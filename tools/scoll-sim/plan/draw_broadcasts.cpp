#include <algorithm>
#include <optional>

#include "tools/scoll-sim/plan/draft.hpp"

// The broadcasts: when they begin, how long they take, and what goes wrong by itself.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr nanoseconds creation_takes = milliseconds(15);

/// Returns a group that exists at that time, if there is one.
const drawn_group& group_before(draft& d, nanoseconds at, draws& random) {
  std::size_t usable = 0;
  while (usable < d.groups.size() && d.groups[usable].at + creation_takes <= at) ++usable;
  // Usually one of the latest two thirds, because older groups have lost more members.
  const std::uint64_t recent = random.below(std::max<std::size_t>(1, usable * 2 / 3));
  const std::uint64_t any = random.below(std::max<std::size_t>(1, usable));
  const bool old = random.chance(1, 2) && d.has().old_groups;
  return d.groups[usable == 0 ? 0 : usable - 1 - (old ? any : recent)];
}

void draw_failing_hooks(draft& d, std::uint64_t number, nanoseconds at) {
  draws random = d.stream("hooks", number);
  if (!random.chance(1, 6)) return;
  events::hooks failing{number, {}, {}, {}, {}};
  for (number_set* const ranks :
       {&failing.refusing, &failing.failing, &failing.throwing, &failing.oversized}) {
    const number_set few = d.half(random) & d.half(random) & d.half(random);
    if (random.chance(1, 3)) *ranks = few;
  }
  d.add(at, failing);
}

void draw_broadcast(draft& d, std::uint64_t number, nanoseconds at, bool rush) {
  draws random = d.stream("broadcast", number);
  const drawn_group& g = group_before(d, at, random);
  std::uint32_t root = d.host(random);
  while (!g.members.contains(root)) root = (root + 1) % d.hosts();
  const std::uint64_t bytes = random.chance(1, 10) ? random.between(1'000, 4'000) : random.between(0, 300);
  const bool lasting = d.mixed() && random.chance(1, 16);
  std::uint64_t work = random.chance(1, 2) ? 0 : random.magnitude(10, 100'000);
  if (lasting) work = random.between(300'000, 2'000'000);
  if (rush) work = random.between(20'000, 100'000);
  std::uint64_t deadline = 0, bound = 0, prepare = 0;
  if (d.mixed()) {
    if (random.chance(2, 5)) deadline = random.magnitude(5'000, 2'000'000);
    if (random.chance(1, 4)) bound = random.magnitude(10'000, 2'000'000);
    if (random.chance(1, 6)) prepare = random.magnitude(10, 10'000);
  }
  // The events that describe a broadcast come before it, because events of one moment keep their order.
  if (d.mixed()) draw_failing_hooks(d, number, at);
  d.broadcasts.push_back({number, at, g.number, root});
  d.add(at, events::bcast{number, g.number, root, bytes, as_us(work), as_us(deadline), as_us(bound),
                          as_us(prepare)});
  if (d.mixed() && random.chance(1, lasting ? 2 : 20)) {
    const std::uint64_t later = random.magnitude(1, 100'000);
    d.add(at + from_us(later), events::cancel{number});
  }
}

/// Says what a broadcast does about the dead and the living, and which of its members need more time.
std::optional<events::manner> draw_manner(draft& d, const drawn_broadcast& b) {
  draws random = d.stream("manner", b.number);
  constexpr dead_choice choices[]{dead_choice::by_default, dead_choice::refuse, dead_choice::try_others,
                                  dead_choice::try_others};
  constexpr audience audiences[]{audience::chosen, audience::chosen, audience::chosen, audience::alive,
                                 audience::same_view};
  events::manner m{b.number, random.one_of(choices), random.one_of(audiences), as_us(0), {}};
  const std::uint64_t extension = random.magnitude(10'000, 1'500'000);
  const number_set brimful = d.half(random) & d.half(random);
  if (random.chance(1, 8)) m.extension = as_us(extension);
  if (random.chance(1, 8)) m.brimful = brimful;
  return random.chance(1, 2) ? std::optional(m) : std::nullopt;
}

}  // namespace

void draw_broadcasts(draft& d) {
  if (d.options().work == workload::ship) return;
  draws random = d.stream("broadcasts");
  const std::uint64_t many = random.between(220, 340);
  const std::uint64_t wanted = d.options().work == workload::bulk ? many / 4 : many;
  const nanoseconds start = d.beginning();
  std::uint64_t number = 0;
  while (number < wanted) {
    nanoseconds at = start + random.moment(milliseconds(20), d.horizon);
    const bool rush = d.mixed() && random.chance(1, 150);  // more than the tables of operations hold
    std::uint64_t burst = random.chance(1, 3) ? random.between(2, 12) : 1;
    if (rush) burst = random.between(32, 64);
    for (std::uint64_t i = 0; i < burst && number < wanted; ++i) {
      draw_broadcast(d, number++, at, rush);
      at += nanoseconds(static_cast<std::int64_t>(random.below(50'000)));
    }
  }
}

/// All of these events come before all broadcasts.
void draw_manners(draft& d) {
  if (!d.mixed()) return;
  for (const drawn_broadcast& b : d.broadcasts) {
    draws random = d.stream("subset", b.number);
    if (random.chance(1, 8)) d.add(nanoseconds(0), events::subset{b.number, d.half(random)});
    if (!d.has().manners) continue;
    if (const auto m = draw_manner(d, b)) d.add(nanoseconds(0), *m);
  }
}

/// Some broadcasts are the last of their root. The first groups keep all theirs, so that enough groups live on.
void draw_last_broadcasts(draft& d) {
  if (!d.mixed()) return;
  draws random = d.stream("last broadcasts");
  for (const drawn_broadcast& b : d.broadcasts) {
    if (random.chance(1, 30) && b.group >= 2) d.add(nanoseconds(0), events::last{b.number});
  }
}

/// Requests that must be refused come soon after the broadcasts that they imitate.
void draw_strays(draft& d) {
  if (!d.mixed()) return;
  draws random = d.stream("strays");
  constexpr stray_kind kinds[]{stray_kind::repeated, stray_kind::stranger, stray_kind::bygone};
  const std::uint64_t wanted = random.between(4, 20);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    const drawn_broadcast& b = d.broadcasts[random.below(d.broadcasts.size())];
    const std::uint64_t later = random.magnitude(100, 500'000);
    const std::uint32_t from = d.host(random);
    d.add(b.at + from_us(later), events::stray{b.number, from, random.one_of(kinds)});
  }
}

}  // namespace scoll::sim
