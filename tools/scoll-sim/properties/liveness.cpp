#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

// What must hold for nodes that follow a gossip.
namespace scoll::sim {

void check_liveness_settled(cluster& c, violations& found) {
  if (!c.has_gossip()) return;
  if (c.slanders() != 0)
    found.push_back(
        {"no false verdict in calm", fmt::format("{} living hosts were called dead", c.slanders())});
  for (std::uint32_t host = 0; host < c.hosts(); ++host) {
    const life* const l = c.alive(host);
    if (l == nullptr) continue;
    const detail::engine& engine = detail::node_access::engine(*l->member);
    if (l->participant->stage() != gossip::participation::active)
      found.push_back({"everybody takes part in the gossip", fmt::format("host {} does not", host)});
    for (std::uint32_t other = 0; other < c.hosts(); ++other) {
      const bool up = c.alive(other) != nullptr;
      if (other != host && up == engine.lives().is_dead(other + 1))
        found.push_back({"the gossip tells the truth",
                         fmt::format("host {} holds host {} to be {}", host, other, up ? "dead" : "alive")});
    }
  }
}

}  // namespace scoll::sim
