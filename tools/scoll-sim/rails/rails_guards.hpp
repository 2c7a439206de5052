#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/guards/cluster_keys.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"

namespace scoll::sim {

/// The guards of a run of rails: a third of the seeds have them, and half of these change the key. The plan
/// must outlive this object.
class rails_guards {
 public:
  rails_guards(std::uint64_t seed, const rails_plan& p);

  /// Null if connections prove nothing. The second server of a run comes behind all hosts.
  std::shared_ptr<transport::link_security> made_for(std::uint32_t host);
  /// Lets the hosts take the steps to the new key that are due.
  void pass(nanoseconds now);
  /// Nobody who has the key is turned away, unless its hello was under way for longer than a step to another
  /// key takes, and nothing passes between ends without one channel.
  void check(const testing::sim_network& network, const std::vector<std::unique_ptr<rails_host>>& hosts,
             violations& found) const;
  void note_seen(coverage& seen) const;

 private:
  void draw_rekeys(draws& random, std::uint32_t hosts);
  bool may_be_late() const noexcept;

  const rails_plan& plan_;
  std::optional<cluster_keys> keys_;
  std::vector<plan_event> rekeys_;  // in order of time
  std::size_t taken_ = 0;
};

}  // namespace scoll::sim
