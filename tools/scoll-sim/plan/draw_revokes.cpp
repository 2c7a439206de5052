#include <vector>

#include "scoll/tree/any_tree.hpp"
#include "tools/scoll-sim/plan/draft.hpp"

// Revokes: of groups that are in use, by one member or two, beside deaths and wrong verdicts, and before a member has
// heard that the group exists.
namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t first_lasting = 60'000;   // numbers of calls that last until their group is revoked
constexpr std::uint64_t first_overtaken = 2'100;  // numbers of groups that are revoked before they are known

/// A living host that all others hold dead: no notice goes to it until it is known to be alive.
void draw_slander(draft& d, draws& random, nanoseconds at, std::uint32_t by) {
  const std::uint32_t about = d.other_than(by, random);
  const std::uint64_t corrected_us = random.between(50'000, 3'000'000);
  for (std::uint32_t who = 0; who < d.hosts(); ++who) {
    if (who == about) continue;
    d.add(at - milliseconds(1), events::verdict{who, about, news::falsely_dead});
    d.add(at + from_us(corrected_us), events::verdict{who, about, news::alive});
  }
}

/// The host that revokes, or another one, dies in the middle of it.
void draw_death(draft& d, draws& random, nanoseconds at, std::uint32_t by) {
  const std::uint32_t other = d.other_than(by, random);
  const bool itself = random.chance(1, 2);
  const bool silent = random.chance(1, 2);
  const std::uint64_t later_us = random.magnitude(1, 2'000);
  if (d.crashes_left == 0) return;
  --d.crashes_left;
  d.add(at + from_us(later_us), events::crash{itself ? by : other, silent});
}

std::uint64_t draw_revoke(draft& d, std::uint64_t number) {
  draws random = d.stream("revoke", number);
  const drawn_group& g = d.groups[random.below(d.groups.size())];
  std::uint32_t by = d.host(random);
  while (!g.members.contains(by)) by = (by + 1) % d.hosts();
  const bool early = random.chance(1, 6);
  const nanoseconds late =
      random.moment(g.at + milliseconds(20), d.beginning() + d.horizon + milliseconds(100));
  const nanoseconds at = early ? g.at + from_us(random.between(100, 20'000)) : late;
  const bool two = random.chance(1, 4);
  const bool slander = random.chance(1, 4);
  const bool death = random.chance(1, 4);
  const auto reason = static_cast<std::uint32_t>(100 + number);
  if (slander && d.has().verdicts && d.hosts() > 2) draw_slander(d, random, at, by);
  if (d.has().calls) {
    const std::uint64_t call = first_lasting + number;
    d.add(nanoseconds(0), events::within{call, g.number});
    d.add(at - milliseconds(2), events::call{call, by, d.other_than(by, random), 10, std::chrono::seconds(60),
                                             microseconds(0), 0, 10});
    d.add(at + std::chrono::seconds(2), events::call_stop{call});
  }
  d.add(at, events::revoke{g.number, by, reason});
  if (two) {
    const std::uint64_t later_us = random.magnitude(1, 5'000);
    std::uint32_t second = d.other_than(by, random);
    while (!g.members.contains(second)) second = (second + 1) % d.hosts();
    d.add(at + from_us(later_us), events::revoke{g.number, second, reason + 50});
  }
  if (death && d.swarm() && d.hosts() > 2) draw_death(d, random, at, by);
  return g.number;
}

/// A creation that crawls at one hop of a chain, and is revoked before it has arrived.
void draw_overtaken_creation(draft& d) {
  draws random = d.stream("overtaken creation");
  if (d.hosts() < 4 || !d.swarm() || !random.chance(3, 4)) return;
  const std::uint32_t creator = d.host(random);
  const std::uint32_t slow = d.other_than(creator, random);
  const nanoseconds at = d.beginning() + random.moment(milliseconds(20), d.horizon);
  for (std::uint32_t next = 0; next < d.hosts(); ++next) {
    if (next != slow && next != creator)
      d.add(at, events::slow{slow, next, milliseconds(400), milliseconds(200)});
  }
  d.add(at + milliseconds(1), events::group{first_overtaken, creator, chain::kind, 0, d.everybody(),
                                            service_kind::bare, 0, 0, false, microseconds(0)});
  d.add(at + milliseconds(60), events::revoke{first_overtaken, creator, 99});
}

}  // namespace

void draw_revokes(draft& d) {
  if (!d.has().revokes || d.hosts() < 2 || d.groups.empty()) return;
  draws random = d.stream("revokes");
  const std::uint64_t wanted = random.between(1, 4);
  std::vector<std::uint64_t> revoked;
  revoked.reserve(wanted);
  for (std::uint64_t i = 0; i < wanted; ++i) revoked.push_back(draw_revoke(d, i));
  draw_overtaken_creation(d);
  const std::size_t before = d.events().size();
  for (std::size_t i = 0; i < before; ++i) {
    const plan_event e = d.events()[i];
    const auto* const c = std::get_if<events::call>(&e.what);
    if (c == nullptr) continue;
    draws which = d.stream("within", c->number);
    if (which.chance(1, 2))
      d.add(nanoseconds(0), events::within{c->number, revoked[which.below(revoked.size())]});
  }
}

}  // namespace scoll::sim
