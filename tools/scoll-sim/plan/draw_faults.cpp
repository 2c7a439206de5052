#include <utility>

#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/plan/draft.hpp"

// The faults of hosts and wires.
namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t first_late = 1'000;  // numbers of the groups of late greetings

/// The kinds of faults that are drawn by themselves.
enum class fault_kind : std::uint8_t {
  cut,
  half_open,
  block,
  partition,
  slow,
  narrow,
  corrupt,
  refuse,
  stall,
  crash,
  cut_after,
  storm,
  bulk_outage,
  repeat_connects,
  lose_all,
};
constexpr std::size_t fault_kinds = static_cast<std::size_t>(fault_kind::lose_all) + 1;

void draw_crash(draft& d, draws& random, nanoseconds at, std::uint32_t victim) {
  const bool silent = random.chance(1, 2);
  const std::uint64_t down = random.magnitude(100, 3'000'000);
  const bool at_once = random.chance(1, 4);
  const bool returns = random.chance(4, 5);
  if (d.crashes_left == 0) return d.add(at, events::stall{victim, as_us(down + 1'000)});
  --d.crashes_left;
  d.add(at, events::crash{victim, silent});
  if (returns) d.add(at + (at_once ? nanoseconds(0) : from_us(down)), events::boot{victim});
}

void draw_stall(draft& d, draws& random, nanoseconds at, std::uint32_t host, microseconds lasts) {
  const bool is_long = random.chance(1, 8) && d.swarm();  // 0.1 to 30 s
  const std::uint64_t long_us = random.between(100'000, 30'000'000);
  d.add(at, events::stall{host, is_long ? as_us(long_us) : lasts});
}

void draw_fault(draft& d, draws& random, fault_kind kind, nanoseconds at) {
  const std::uint32_t a = d.host(random);
  const std::uint32_t b = d.other_than(a, random);
  const bool swarm = d.swarm() && d.options().faults == fault_profile::swarm;
  const microseconds lasts = as_us(random.magnitude(100, swarm ? 3'000'000 : 20'000));
  switch (kind) {
    case fault_kind::cut: return d.add(at, events::cut{a, b});
    case fault_kind::half_open: return d.add(at, events::half_open{a, b});
    case fault_kind::lose_all: return d.add(at, events::lose_all{a, b});
    case fault_kind::block: return d.add(at, events::block{a, b, lasts});
    case fault_kind::partition: return d.add(at, events::partition{d.half(random), lasts});
    case fault_kind::slow:
      return d.add(at, events::slow{a, b, as_us(random.between(10, swarm ? 500'000 : 5'000)), lasts});
    case fault_kind::narrow: return d.add(at, events::narrow{a, b, random.between(10, 1'000), lasts});
    case fault_kind::corrupt:
      return d.add(at, events::corrupt{a, b, static_cast<std::uint32_t>(random.between(1, 3))});
    case fault_kind::refuse: return d.add(at, events::refuse{a, b, lasts});
    case fault_kind::stall: return draw_stall(d, random, at, a, lasts);
    case fault_kind::crash: return draw_crash(d, random, at, a);
    case fault_kind::cut_after:
      return d.add(at, events::cut_after{a, b, static_cast<std::uint32_t>(random.between(1, 12))});
    case fault_kind::storm: return d.add(at, events::storm{a});
    case fault_kind::bulk_outage:
      if (!d.has().two_rails) return d.add(at, events::cut{a, b});
      return d.add(at, events::bulk_outage{a, b, as_us(random.magnitude(1'000, 6'000'000))});
    case fault_kind::repeat_connects:
      d.add(at, events::repeat_connects{a, b, static_cast<std::uint32_t>(random.between(1, 3)),
                                        as_us(random.magnitude(10, 200'000))});
      return d.add(at, events::cut{a, b});
  }
}

std::vector<fault_kind> draw_mixture(draft& d, draws& random) {
  std::vector<fault_kind> mix;
  for (std::size_t i = 0; i < fault_kinds; ++i) {
    const auto kind = static_cast<fault_kind>(i);
    const bool mild = kind == fault_kind::cut || kind == fault_kind::slow || kind == fault_kind::stall;
    const bool drawn = random.chance(1, 2);
    if (d.options().faults == fault_profile::swarm ? drawn : mild) mix.push_back(kind);
  }
  if (mix.empty()) mix.push_back(fault_kind::cut);
  return mix;
}

/// A host's greeting is under way for so long that its next life is heard first.
void draw_late_greeting(draft& d) {
  draws random = d.stream("late greeting");
  if (!random.chance(1, 3) || d.crashes_left == 0 || d.hosts() < 2) return;
  --d.crashes_left;
  const nanoseconds at = d.beginning() + random.moment(milliseconds(10), d.horizon);
  const std::uint32_t from = d.host(random);
  const std::uint32_t to = d.other_than(from, random);
  const std::uint64_t extra_us = random.between(100'000, 400'000);
  const number_set both = number_set::of(from) | number_set::of(to);
  const auto group = [&](std::uint64_t number) {
    return events::group{number, from, flat::kind, 0, both, service_kind::bare, 0, 0, false, microseconds(0)};
  };
  d.add(at, events::slow{from, to, as_us(extra_us), milliseconds(30)});
  d.add(at, events::cut{from, to});
  d.add(at + milliseconds(5), group(first_late));
  d.add(at + milliseconds(35), events::crash{from, false});
  d.add(at + milliseconds(36), events::boot{from});
  d.add(at + milliseconds(50), group(first_late + 1));
}

}  // namespace

void draw_faults(draft& d) {
  if (d.quiet || d.hosts() < 2 || d.has().outages || d.has().rails_alone || d.has().guards_alone) return;
  draws random = d.stream("faults");
  const bool swarm = d.options().faults == fault_profile::swarm;
  const std::vector<fault_kind> mix = draw_mixture(d, random);
  const std::uint64_t count = swarm ? random.between(8, 40) : random.between(3, 8);
  d.crashes_left = d.hosts() < 3 ? d.hosts() - 1 : d.hosts() / 3;
  for (std::uint64_t i = 0; i < count; ++i) {
    draws one = d.stream("fault", i);
    const fault_kind kind = mix[one.below(mix.size())];
    const nanoseconds at = d.beginning() + one.moment(milliseconds(10), d.horizon);
    draw_fault(d, one, kind, at);
  }
  if (swarm) draw_late_greeting(d);
  if (d.has().gossip) {
    const std::uint64_t loss = random.below(100'000);
    d.add(d.beginning(), events::lossy{static_cast<std::uint32_t>(random.chance(1, 2) ? loss : 0)});
  }
}

}  // namespace scoll::sim
