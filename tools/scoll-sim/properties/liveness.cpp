#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// What must hold for nodes that follow a gossip.
namespace scoll::sim {
namespace {

/// True if the gossip never told a node of the latest life of a host, which had ended before. Nodes that it has
/// connected to know of that life, and no verdict about an earlier one says anything of it.
bool died_unheard(const cluster& c, const detail::engine& at, std::uint32_t host) {
  const life* latest = nullptr;
  for (const life& l : c.all_lives()) {
    if (l.host == host && l.member != nullptr) latest = &l;
  }
  return latest != nullptr &&
         (latest->died_in_stealth || !at.lives().is_reported(host + 1, latest->incarnation));
}

}  // namespace

void check_liveness_settled(cluster& c, violations& found) {
  if (!c.has_gossip()) return;
  if (c.early_broadcasts() != 0)
    found.push_back({"nothing begins in stealth", fmt::format("{} executions did", c.early_broadcasts())});
  if (c.slanders() != 0)
    found.push_back(
        {"no false verdict in calm", fmt::format("{} living hosts were called dead", c.slanders())});
  if (c.rash_verdicts() != 0)
    found.push_back(
        {"verdicts agree with contact",
         fmt::format("{} connected peers were not asked before they were dead", c.rash_verdicts())});
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    const life* const l = c.alive(host);
    if (l == nullptr) continue;
    const detail::engine& engine = detail::node_access::engine(*l->member);
    if (l->participant->stage() != gossip::participation::active)
      found.push_back({"everybody takes part in the gossip", fmt::format("host {} does not", host)});
    for (gossip::participant_index i = 0; i < c.hosts(); ++i) {
      const node_id other = l->bond->node_of(i);
      if (other == host + 1) continue;
      const bool up = c.alive(static_cast<std::uint32_t>(other - 1)) != nullptr;
      const gossip::liveness told = l->participant->state(i);
      // A host that started after the death of another has never heard of that one.
      if (!up && !c.deaths_are_known()) continue;
      const bool is_true = up ? told == gossip::liveness::alive : told != gossip::liveness::alive;
      const bool is_heard = engine.lives().is_dead(other) == (told == gossip::liveness::dead) ||
                            l->bond->doubts_death_of(other) ||
                            died_unheard(c, engine, static_cast<std::uint32_t>(other - 1));
      if (!is_true || !is_heard)
        found.push_back({"the gossip tells the truth",
                         fmt::format("host {} holds host {}, which is {}, to be {}", host, other - 1,
                                     up ? "up" : "down", gossip::to_string(told))});
    }
  }
}

}  // namespace scoll::sim
