#include "tools/scoll-sim/plan/draft.hpp"

// Invented verdicts: in these runs there is no gossip, and the hosts are told of crashes and returns.
namespace scoll::sim {
namespace {

void tell(draft& d, nanoseconds at, std::uint32_t who, std::uint32_t about, news what) {
  if (who != about) d.add(at, events::verdict{who, about, what});
}

void draw_news(draft& d, draws& random, nanoseconds at, std::uint32_t about, news what,
               std::uint64_t latest_us) {
  for (std::uint32_t who = 0; who < d.hosts(); ++who) {
    const std::uint64_t later = random.below(latest_us);
    if (!random.chance(1, 8)) tell(d, at + from_us(later), who, about, what);
  }
}

/// A few hosts hear of deaths that did not happen, in some runs.
draws wrong_verdicts(const draft& d) {
  return d.stream("false verdicts");
}

bool are_drawn(draws& random) {
  return random.chance(1, 4);
}

void draw_errors(draft& d) {
  draws random = wrong_verdicts(d);
  if (!are_drawn(random)) return;
  const std::uint64_t wrong = random.between(1, 3);
  for (std::uint64_t i = 0; i < wrong; ++i) {
    const std::uint32_t who = d.host(random);
    const std::uint32_t about = d.host(random);
    const nanoseconds at = d.beginning() + random.moment(nanoseconds(0), d.horizon);
    const std::uint64_t corrected_us = random.below(1'000'000);
    tell(d, at, who, about, news::falsely_dead);
    tell(d, at + from_us(corrected_us), who, about, news::alive);
  }
}

}  // namespace

bool has_wrong_verdicts(const draft& d) {
  draws random = wrong_verdicts(d);
  return d.has().verdicts && are_drawn(random);
}

/// The other hosts hear of most crashes and returns, soon or late.
void draw_liveness(draft& d) {
  if (!d.has().verdicts) return;
  const std::size_t before = d.events().size();
  for (std::size_t i = 0; i < before; ++i) {
    const plan_event e = d.events()[i];
    const auto at = static_cast<std::uint64_t>(e.at.count());
    draws random = d.stream("news", at);
    if (const auto* const c = std::get_if<events::crash>(&e.what))
      draw_news(d, random, e.at, c->host, news::dead, 3'000'000);
    if (const auto* const b = std::get_if<events::boot>(&e.what))
      draw_news(d, random, e.at, b->host, news::alive, 500'000);
  }
  draw_errors(d);
}

}  // namespace scoll::sim
