#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/guards/cluster_keys.hpp"
#include "tools/scoll-sim/guards/outsiders.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"

namespace scoll::sim {

/// The guards of a run of rails: a third of the seeds have them. Half of these change the key, half have
/// certificates, and outsiders come to half of them. The plan must outlive this object.
class rails_guards {
 public:
  rails_guards(std::uint64_t seed, const rails_plan& p);
  ~rails_guards();

  bool has_outsiders() const noexcept { return !visits_.empty(); }
  /// The hosts of the world: those of the cluster, the second server with an id, and that of the outsiders.
  std::uint32_t all_hosts() const noexcept {
    return plan_.hosts + plan_.claimed.has_value() + has_outsiders();
  }
  /// Lets outsiders come from now on. They go with `end`.
  void begin(testing::sim_world& world, testing::sim_network& network);
  void end() noexcept { strangers_.reset(); }

  /// Null if connections prove nothing.
  std::shared_ptr<transport::link_security> made_for(std::uint32_t host);
  /// Likewise, for the second server of a run, which comes behind all hosts: it has all that the first one has.
  std::shared_ptr<transport::link_security> made_for_claimant();
  /// Lets the hosts take the steps to the new key that are due, and the outsiders come.
  void pass(nanoseconds now);
  /// Nobody who has the key is turned away, unless its hello was under way for longer than a step to another
  /// key takes. Nothing passes between ends without one channel, and outsiders are turned away in time.
  void check(const testing::sim_network& network, const std::vector<std::unique_ptr<rails_host>>& hosts,
             violations& found) const;
  void note_seen(coverage& seen) const;

 private:
  void draw_rekeys(draws& random, std::uint32_t hosts);
  void draw_visits(std::uint64_t seed);
  bool may_be_late() const noexcept;
  nanoseconds longest_fault() const noexcept;
  void check_outsiders(const std::vector<std::unique_ptr<rails_host>>& hosts, nanoseconds now,
                       violations& found) const;

  const rails_plan& plan_;
  std::optional<cluster_keys> keys_;
  std::vector<plan_event> rekeys_;  // in order of time
  std::size_t taken_ = 0;
  std::vector<plan_event> visits_;  // in order of time
  std::size_t come_ = 0;
  std::unique_ptr<outsiders> strangers_;
};

}  // namespace scoll::sim
