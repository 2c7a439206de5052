#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"

namespace scoll::sim {

/// A second server with the id of one that is there. Nobody may serve it, and it must be told why.
class rails_claimant {
 public:
  using hosts = std::vector<std::unique_ptr<rails_host>>;
  /// `plan` says whose id it has; the world has one host more than the plan. `security` is that of a host of
  /// the cluster, or null.
  rails_claimant(testing::sim_world& world, testing::sim_network& network, const rails_plan& p,
                 std::shared_ptr<transport::link_security> security);

  /// Calls one of the others, unless it waits for an answer.
  void call();
  /// Checks what has become of the latest call.
  void check(const hosts& others, violations& found);
  void check_at_end(violations& found) const;
  void note_seen(coverage& seen) const { seen.saw(mark::id_refused, told_); }
  void end();
  std::size_t open() const noexcept { return self_.open(); }

 private:
  testing::sim_world& world_;
  const rails_plan& plan_;
  rails_host self_;
  std::deque<rails_call> calls_;
  bool told_ = false;
};

}  // namespace scoll::sim
