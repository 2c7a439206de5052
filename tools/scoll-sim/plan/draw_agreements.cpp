#include <algorithm>
#include <vector>

#include "tools/scoll-sim/cluster/agreements.hpp"
#include "tools/scoll-sim/plan/draft.hpp"

// The agreements: who calls, how late, and what becomes of a group that was shrunk.
namespace scoll::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr std::uint64_t first_adopted = 500;       // numbers of groups from there on cannot agree
constexpr std::uint64_t first_small = 400;         // numbers of groups of few members
constexpr std::uint64_t first_dwindling = 450;     // and of those that lose half of them
constexpr std::uint64_t first_of_dwindling = 700;  // numbers of the agreements in those
constexpr std::uint64_t first_of_shrunk = 30'000;  // numbers of broadcasts to shrunk groups

/// What the agreements of one run have in common.
struct agreement_draws {
  std::uint64_t next_call = 0;
  std::uint64_t broadcasts = 0;  ///< to shrunk groups, so far
  /// Survivors may decide. Then nobody hears of a death that did not happen, because two sides that hold each
  /// other dead may decide differently.
  bool survivors = false;

  /// True if the item is decided by survivors.
  bool by_survivors(draft& d, std::string_view subject, std::uint64_t item) const {
    return survivors && d.stream(subject, item).chance(2, 3);
  }
};

std::vector<nanoseconds> crashes_of(const draft& d) {
  std::vector<nanoseconds> crashes;
  for (const plan_event& e : d.events()) {
    if (std::holds_alternative<events::crash>(e.what)) crashes.push_back(e.at);
  }
  return crashes;
}

/// Half of the times are shortly before a crash, if there is one.
nanoseconds draw_time(draft& d, draws& random, nanoseconds from) {
  const std::vector<nanoseconds> crashes = crashes_of(d);
  const nanoseconds end = std::max(from + milliseconds(1), d.beginning() + d.horizon);
  const nanoseconds any = random.moment(from, end);
  const std::uint64_t which = random.next();
  const std::uint64_t before = random.magnitude(10, 60'000);
  if (crashes.empty() || !random.chance(1, 2)) return any;
  return std::max(from, crashes[which % crashes.size()] - from_us(before));
}

/// Each member calls, soon after `at` or much later, and some call again.
template <class Call>
void draw_callers(draft& d, draws& random, const number_set& members, nanoseconds at, Call call) {
  const bool scattered = random.chance(1, 3);
  const std::uint64_t spread_us = scattered ? 1'500'000 : random.magnitude(10, 20'000);
  for (std::uint32_t host = 0; host < d.hosts(); ++host) {
    const nanoseconds when = at + from_us(random.below(spread_us));
    const microseconds deadline = as_us(random.magnitude(300'000, 5'000'000));
    const nanoseconds again = when + from_us(random.below(4'000'000));
    const bool calls = random.chance(15, 16);
    const bool repeats = random.chance(1, 4);
    if (!members.contains(host) || !calls) continue;
    call(when, host, deadline);
    if (repeats) call(again, host, deadline);
  }
}

/// A group of a few hosts, which loses its majority easily.
drawn_group draw_small_group(draft& d, draws& random, std::uint64_t number, std::uint32_t creator) {
  number_set members = number_set::of(creator);
  const std::uint64_t others = random.between(1, 4);
  for (std::uint64_t i = 0; i < others; ++i) members.insert(d.host(random));
  const nanoseconds at = d.beginning() + random.moment(milliseconds(1), d.horizon / 2);
  d.add(at, events::group{number, creator, knomial::kind, 2, members, service_kind::bare, 0, 0, false,
                          microseconds(0)});
  return {number, at, members};
}

drawn_group draw_small_group(draft& d, std::uint64_t item) {
  draws random = d.stream("small group", item);
  const std::uint32_t creator = d.host(random);
  return draw_small_group(d, random, first_small + item, creator);
}

/// In runs with invented verdicts, all others hear of the death of one member that lives, or one member hears
/// it of all others.
void draw_wrong_news(draft& d, draws& random, const number_set& members, nanoseconds at) {
  std::uint32_t one = d.host(random);
  while (!members.contains(one)) one = (one + 1) % d.hosts();
  const bool of_one = random.chance(2, 3);
  const nanoseconds corrected = at + from_us(random.magnitude(1'000, 3'000'000));
  if (!d.has().verdicts || !random.chance(1, 3)) return;
  members.each([&](std::uint32_t other) {
    if (other == one || other >= d.hosts()) return;
    const std::uint32_t hearer = of_one ? other : one;
    const std::uint32_t about = of_one ? one : other;
    d.add(at, events::verdict{hearer, about, news::falsely_dead});
    d.add(corrected, events::verdict{hearer, about, news::alive});
  });
}

void draw_agreement(draft& d, std::uint64_t number, const drawn_group& g, agreement_draws& run) {
  draws random = d.stream("agreement", number);
  const bool survivors = run.by_survivors(d, "quorum of an agreement", number);
  const nanoseconds at = draw_time(d, random, g.at + milliseconds(30));
  const std::uint64_t jump = random.chance(1, 8) ? 100 : 0;
  if (!run.survivors) draw_wrong_news(d, random, g.members, at);
  draw_callers(d, random, g.members, at, [&](nanoseconds when, std::uint32_t host, microseconds deadline) {
    d.add(when, events::agree{run.next_call++, g.number, number * 10 + jump, host, deadline, survivors});
  });
}

/// The survivors use their group, destroy the old one, and at times shrink the new one too.
void draw_sequel(draft& d, draws& random, std::uint64_t shrunk, const number_set& members, nanoseconds at,
                 std::uint64_t& broadcasts) {
  const std::uint64_t wanted = random.between(3, 8);
  for (std::uint64_t i = 0; i < wanted; ++i) {
    std::uint32_t root = d.host(random);
    while (!members.contains(root)) root = (root + 1) % d.hosts();
    const nanoseconds when = at + from_us(random.magnitude(1'000, 3'000'000));
    d.add(when, events::bcast{first_of_shrunk + broadcasts++, shrunk, root, random.below(200),
                              as_us(random.below(2'000)), as_us(0), as_us(0), as_us(0)});
  }
  const nanoseconds end = at + from_us(random.magnitude(1'000, 4'000'000));
  const std::uint32_t ender = d.host(random);
  const bool old_ends = random.chance(1, 2);
  const bool new_ends = random.chance(1, 3);
  if (old_ends) d.add(end, events::destroy{shrunk - agreements::first_shrunk, ender});
  if (new_ends) d.add(end + milliseconds(500), events::destroy{shrunk, d.host(random)});
}

/// The members but one die, soon before or after the others call, and the one that is left hears of it.
void draw_deaths(draft& d, draws& random, const number_set& members, std::uint32_t left, nanoseconds at) {
  members.each([&](std::uint32_t host) {
    const nanoseconds when = at + from_us(random.below(20'000)) - milliseconds(5);
    const bool silent = random.chance(1, 2);
    const nanoseconds known = when + from_us(random.magnitude(100, 300'000));
    if (host == left) return;
    d.add(when, events::crash{host, silent});
    d.add(known, events::verdict{left, host, news::dead});
  });
}

/// A group whose creator alone survives: survivors go on without a majority.
void draw_dwindling(draft& d, std::uint64_t item, agreement_draws& run) {
  draws random = d.stream("dwindling group", item);
  const std::uint32_t creator = d.host(random);
  const drawn_group g = draw_small_group(d, random, first_dwindling + item, creator);
  const nanoseconds at = g.at + milliseconds(30) + from_us(random.magnitude(1'000, 3'000'000));
  const bool shrinks = random.chance(1, 2);
  draw_deaths(d, random, g.members, creator, at);
  draw_callers(d, random, g.members, at, [&](nanoseconds when, std::uint32_t host, microseconds deadline) {
    if (shrinks) {
      d.add(when, events::shrink{run.next_call++, g.number, host, deadline, true});
    } else {
      d.add(when, events::agree{run.next_call++, g.number, first_of_dwindling + item, host, deadline, true});
    }
  });
}

void draw_shrink(draft& d, std::uint64_t item, const drawn_group& g, agreement_draws& run) {
  draws random = d.stream("shrink", item);
  const bool survivors = run.by_survivors(d, "quorum of a shrink", item);
  nanoseconds at = draw_time(d, random, g.at + milliseconds(30));
  const std::uint64_t depth = random.chance(1, 3) ? 2 : 1;
  if (!run.survivors) draw_wrong_news(d, random, g.members, at);
  for (std::uint64_t level = 0; level < depth; ++level) {
    const std::uint64_t number = g.number + level * agreements::first_shrunk;
    draw_callers(d, random, g.members, at, [&](nanoseconds when, std::uint32_t host, microseconds deadline) {
      d.add(when, events::shrink{run.next_call++, number, host, deadline, survivors});
    });
    draw_sequel(d, random, number + agreements::first_shrunk, g.members, at, run.broadcasts);
    at += from_us(random.magnitude(50'000, 3'000'000));
  }
}

}  // namespace

void draw_agreements(draft& d) {
  draws random = d.stream("agreements");
  if (!d.mixed() || !random.chance(1, 2)) return;
  std::vector<drawn_group> usable;
  for (const drawn_group& g : d.groups) {
    if (g.number < first_adopted) usable.push_back(g);
  }
  if (usable.empty()) return;
  // Half of the agreements are among few hosts.
  const std::size_t large = usable.size();
  for (std::uint64_t i = 0; i < large; ++i) usable.push_back(draw_small_group(d, i));
  agreement_draws run;
  run.survivors = d.stream("survivors").chance(1, 2) && !d.has().gossip && !has_wrong_verdicts(d);
  const std::uint64_t agreements = random.between(2, 6);
  const std::uint64_t shrinks = random.between(0, 3);
  for (std::uint64_t i = 1; i <= agreements; ++i)
    draw_agreement(d, i, usable[random.below(usable.size())], run);
  const std::uint64_t first = random.below(usable.size());
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(shrinks, usable.size()); ++i)
    draw_shrink(d, i, usable[(first + i) % usable.size()], run);
  for (std::uint64_t i = 0; i < 2 && run.survivors && d.swarm() && d.has().verdicts && d.hosts() > 4; ++i)
    draw_dwindling(d, i, run);
}

}  // namespace scoll::sim
