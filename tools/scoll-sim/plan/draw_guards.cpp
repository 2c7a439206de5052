#include "tools/scoll-sim/plan/draft.hpp"
#include "tools/scoll-sim/plan/outsider_draws.hpp"
#include "transport/sim/sim_security.hpp"

// The guards of connections, the change of their key, and those who try to get past them. All draws have streams of
// their own, so a seed without guards is what it would be if there were none.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;
using testing::sim_handshake;

constexpr std::uint32_t rekey_steps = 3;

void draw_handshake(draft& d) {
  draws random = d.stream("handshake");
  const auto rounds = static_cast<std::uint32_t>(random.between(1, sim_handshake::most_rounds));
  const std::uint64_t bytes = random.chance(1, 2) ? 0 : random.between(32, 16'000);
  const sim_handshake form = sim_handshake{rounds, static_cast<std::uint32_t>(bytes)}.fitted();
  d.add(nanoseconds(0), events::guards{form.rounds, form.flight_bytes});
}

/// Every step is complete on all hosts before the next one. In some runs connections break right afterwards, so
/// that they are made anew by hosts which are not equally far.
void draw_rekeys(draft& d) {
  draws random = d.stream("rekeys");
  if (!random.chance(1, 2)) return;
  const bool cuts = !d.quiet && d.options().faults != fault_profile::none && !d.has().rails_alone &&
                    !d.has().outages && d.hosts() > 1;
  const nanoseconds share = d.horizon / (2 * rekey_steps);
  for (std::uint32_t step = 1; step <= rekey_steps; ++step) {
    const nanoseconds from = d.beginning() + (2 * step - 2) * share + milliseconds(10);
    for (std::uint32_t host = 0; host < d.hosts(); ++host) {
      const nanoseconds at = random.moment(from, from + share);
      d.add(at, events::rekey{host, step});
      const std::uint32_t other = d.other_than(host, random);
      const bool breaks = random.chance(1, 3);
      if (cuts && breaks) d.add(at + from_us(random.between(1, 2'000)), events::cut{host, other});
    }
  }
}

/// Somebody alters what is said on connections that are made just then.
void draw_forgeries(draft& d) {
  draws random = d.stream("forgeries");
  const bool alone = d.has().rails_alone || d.has().outages || d.has().guards_alone;
  if (d.quiet || alone || !d.swarm() || d.hosts() < 2 || !random.chance(1, 2)) return;
  for (std::uint64_t i = random.between(1, 4); i-- != 0;) {
    const nanoseconds at = d.beginning() + random.moment(milliseconds(10), d.horizon);
    const std::uint32_t a = d.host(random);
    const std::uint32_t b = d.other_than(a, random);
    const auto count = static_cast<std::uint32_t>(random.between(1, 3));
    if (random.chance(2, 3)) {
      d.add(at, events::forge{a, b, count});
    } else {
      d.add(at, events::corrupt{a, b, count});
    }
    d.add(at, events::cut{a, b});
  }
}

void draw_outsiders(draft& d) {
  draws random = d.stream("outsiders");
  if (d.hosts() < 2 || !random.chance(2, 3)) return;
  for (std::uint64_t i = random.magnitude(4, most_outsiders); i-- != 0;) {
    const nanoseconds at = d.beginning() + random.moment(milliseconds(10), d.horizon);
    d.add(at, drawn_outsider(random, d.hosts(), d.has().rails));
  }
}

}  // namespace

void draw_guards(draft& d) {
  if (!d.has().guards) return;
  draw_handshake(d);
  draw_rekeys(d);
  draw_forgeries(d);
  draw_outsiders(d);
}

}  // namespace scoll::sim
