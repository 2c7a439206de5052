#include <utility>
#include <vector>

#include "scoll/tree/chain.hpp"
#include "tools/scoll-sim/plan/draft.hpp"

// What broadcasts do when members fail: the workload `failures`. How their items are read: the workload `streams`.
namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t first_met_late = 70'000;  // numbers of groups, and of the only broadcast to each

/// The root of a broadcast holds one of the others dead for a while, wrongly, and loses all below it.
void draw_suspicion(draft& d, const drawn_broadcast& b, draws& random) {
  const std::uint32_t accused = d.other_than(b.root, random);
  const nanoseconds from = b.at + from_us(random.magnitude(50, 60'000));
  const nanoseconds until = from + from_us(random.magnitude(1'000, 200'000));
  if (!d.has().verdicts || !random.chance(1, 2)) return;
  d.add(from, events::verdict{b.root, accused, news::falsely_dead});
  d.add(until, events::verdict{b.root, accused, news::alive});
}

/// In few seeds another host holds the root dead for a while, wrongly. It ends its part, and gives up all below it, which
/// have heard nothing of that.
void draw_suspicion_of_root(draft& d, const drawn_broadcast& b) {
  draws random = d.stream("suspected root", b.number);
  const std::uint32_t hearer = d.other_than(b.root, random);
  const nanoseconds from = b.at + from_us(random.magnitude(200, 60'000));
  const nanoseconds until = from + from_us(random.magnitude(1'000, 200'000));
  if (!random.chance(1, 2)) return;
  d.add(from, events::verdict{hearer, b.root, news::falsely_dead});
  d.add(until, events::verdict{hearer, b.root, news::alive});
}

}  // namespace

/// In half of the broadcasts some members are done at once, and some of them fail, while the others work for
/// long. Half of them end with a quorum. Most of those that neither end early nor fail fast are repaired, and half
/// of all are traced.
void draw_policies(draft& d) {
  if (d.options().work != workload::failures) return;
  const bool suspects_roots = d.has().verdicts && d.stream("suspected roots").chance(1, 8);
  for (const drawn_broadcast& b : d.broadcasts) {
    draws random = d.stream("policy", b.number);
    events::policy chosen{b.number, random.chance(2, 3), d.half(random), as_us(0), 0, false, false, false};
    const std::uint64_t lingers = random.magnitude(20'000, 1'500'000);
    const number_set failing = d.half(random) & d.half(random) & chosen.hasty;
    if (random.chance(1, 2)) chosen.lingers = as_us(lingers);
    draws condition = d.stream("condition", b.number);
    const auto share = static_cast<std::uint32_t>(condition.between(1, 100));
    if (condition.chance(1, 2)) {
      chosen.share = share;
      chosen.fail_fast = condition.chance(1, 8);
    }
    chosen.sets = condition.chance(1, 3);
    chosen.aborts = condition.chance(1, 3);
    chosen.traced = d.stream("trace", b.number).chance(1, 2);
    draws repairing = d.stream("repair", b.number);
    chosen.repairs = !chosen.fail_fast && chosen.share == 0 && repairing.chance(3, 4);
    if (chosen.repairs) draw_suspicion(d, b, repairing);
    if (chosen.repairs && suspects_roots) draw_suspicion_of_root(d, b);
    if (random.chance(1, 2)) d.add(nanoseconds(0), events::hooks{b.number, {}, failing, {}, {}});
    d.add(nanoseconds(0), chosen);
  }
}

/// In a chain out of band, the root gives up a member whose request to the next one waits for a connection, and asks that
/// one itself, which reboots. Then the first request reaches its new life.
void draw_overtaken(draft& d) {
  if (d.options().work != workload::failures || !d.has().verdicts || d.quiet || d.hosts() < 3) return;
  for (std::uint64_t i = 0; i < 2 && d.crashes_left != 0; ++i) {
    draws random = d.stream("overtaken", i);
    if (!random.chance(1, 2)) continue;
    --d.crashes_left;
    number_set members;
    while (members.size() < 3) members.insert(d.host(random));
    std::vector<std::uint32_t> chain;
    members.each([&](std::uint32_t host) { chain.push_back(host); });
    const nanoseconds at = d.beginning() + random.moment(milliseconds(10), d.horizon);
    const nanoseconds doubted = at + from_us(random.between(300, 3'000));
    const nanoseconds crashed = doubted + from_us(random.between(20'000, 90'000));
    const microseconds parted = as_us(random.between(100'000, 300'000));
    const bool knows = random.chance(3, 4);
    const std::uint64_t number = first_met_late + i;
    d.add(at, events::adopt{number, scoll::chain::kind, 0, members, service_kind::bare, members, {}});
    for (std::size_t to = 1; to < chain.size() && knows; ++to)
      d.add(at, events::verdict{chain[0], chain[to], news::alive});
    for (const auto& [from, to] : {std::pair(chain[1], chain[2]), std::pair(chain[2], chain[1])})
      d.add(at, events::block{from, to, parted});
    d.add(at, events::cut{chain[1], chain[2]});
    d.add(at, events::policy{number, false, {}, as_us(0), 0, false, false, true, false});
    d.add(at, events::bcast{number, number, chain[0], 0, as_us(0), as_us(0), as_us(0), as_us(0)});
    d.add(doubted, events::verdict{chain[0], chain[1], news::falsely_dead});
    d.add(crashed, events::crash{chain[2], false});
    d.add(crashed, events::boot{chain[2]});
    d.add(at + parted, events::verdict{chain[0], chain[1], news::alive});
  }
}

/// Half of the broadcasts with streams have small items, and in a quarter each item fills a part. Most are read as
/// fast as possible, some slowly, some not to the end; a quarter is collected.
void draw_readings(draft& d) {
  if (d.options().work != workload::streams) return;
  for (const drawn_broadcast& b : d.broadcasts) {
    draws random = d.stream("reading", b.number);
    const auto few = static_cast<std::uint32_t>(random.magnitude(1, 40));
    constexpr std::uint32_t sizes[]{16, 200, 4'000, 30'000};
    events::reading r{b.number, few, random.one_of(sizes), as_us(0), random.chance(1, 4), 0, 0};
    const std::uint64_t pause = random.magnitude(20, 20'000);
    const auto limit = static_cast<std::uint32_t>(random.magnitude(1'000, 400'000));
    const auto leaves = static_cast<std::uint32_t>(random.magnitude(1, 60));
    if (random.chance(1, 3)) r.pause = as_us(pause);
    if (random.chance(1, 3)) r.limit = limit;
    if (random.chance(1, 8)) r.leaves_after = leaves;
    d.add(nanoseconds(0), r);
  }
}

}  // namespace scoll::sim
