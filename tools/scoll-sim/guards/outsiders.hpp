#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/guards/cluster_keys.hpp"
#include "tools/scoll-sim/plan/events.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

class outsider_visit;

/// A host that is none of the cluster's. It has an address of its own, knows everything but the keys, and tries
/// to be taken for a node.
class outsiders {
 public:
  /// The incarnation that all of them say.
  static constexpr std::uint64_t incarnation = 0x7fff'ffff'ffff'0000;

  /// A node takes so many greetings of one address at a time: fewer than come at once from that of outsiders, and more
  /// than any host makes.
  static constexpr std::uint32_t few_greetings = 12;

  /// The last host of the world is this one; it has the last address of the network. The nodes belong to `cluster`.
  outsiders(testing::sim_world& world, testing::sim_network& network, const cluster_keys& keys,
            std::string cluster);
  ~outsiders();
  outsiders(const outsiders&) = delete;
  outsiders& operator=(const outsiders&) = delete;

  /// Visits a host, if there is what the manner needs. `life` is that of the host, by number.
  void begin(const events::outsider& e, std::uint32_t place, std::uint64_t life);

  const std::deque<outsider_visit>& visits() const noexcept { return visits_; }
  /// The visits of a manner that came to their end without success.
  std::uint32_t turned_away(outsider_manner how) const noexcept;
  /// The visits that were not taken because there were too many from their address.
  std::uint32_t crowded_out(outsider_manner how) const noexcept;
  void note_seen(coverage& seen) const;

 private:
  std::shared_ptr<transport::link_security> security_for(const events::outsider& e) const;
  void visit(const events::outsider& e, std::uint32_t place, std::uint64_t life, std::uint32_t times);

  testing::sim_world& world_;
  testing::sim_network& network_;
  const cluster_keys& keys_;
  std::string cluster_;
  testing::sim_executor home_;
  testing::sim_rail rail_;
  std::uint64_t begun_ = 0;
  std::deque<outsider_visit> visits_;
};

}  // namespace scoll::sim
