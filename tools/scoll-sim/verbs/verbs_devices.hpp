#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"
#include "transport/sim/verbs/fake_verbs.hpp"

namespace scoll::sim {

/// The RDMA devices of a run of rails, and what fails of them. The plan must outlive this object; without rails by
/// RDMA it does nothing.
class verbs_devices {
 public:
  using all_hosts = std::vector<std::unique_ptr<rails_host>>;

  verbs_devices(testing::sim_network& network, const rails_plan& p);

  /// The device of each rail of a host; null where the rail has none.
  rails_host::devices_of_host of(std::uint32_t host);
  /// Begins and ends the faults that are due.
  void pass(nanoseconds now);
  /// What must hold at any time.
  void check(violations& found) const;
  /// What must hold when all have come to rest.
  void check_at_rest(const all_hosts& hosts, violations& found) const;
  /// What must hold when all rails are gone.
  void check_at_end(violations& found) const;
  void note_seen(const all_hosts& hosts, coverage& seen) const;

 private:
  bool any() const noexcept { return !plan_.by_rdma.empty(); }
  void begin(const device_fault& f);
  void end(const device_fault& f);

  const rails_plan& plan_;
  testing::fake_verbs devices_;
  std::vector<device_fault> by_end_;  // the same faults, in the order of their ends
  std::size_t begun_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace scoll::sim
