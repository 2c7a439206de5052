#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/guards/cluster_keys.hpp"
#include "tools/scoll-sim/guards/outsiders.hpp"
#include "tools/scoll-sim/plan/plan.hpp"
#include "transport/session/endpoint_options.hpp"

namespace scoll::sim {

/// The guards of the connections of a cluster, and those who try to get past them.
class guarding {
 public:
  /// The hosts that a world needs for outsiders: one, or none.
  static std::uint32_t outsiders_of(const plan& p);
  /// Nothing if the connections of the run are clear. In a run with outsiders their host is the last one of the
  /// world. `bulk` is the network of bulk data, if that has one of its own.
  static std::optional<guarding> of(const plan& p, testing::sim_world& world, testing::sim_network& network,
                                    const testing::sim_network* bulk);

  /// Guards the connections of a new life of a host.
  void guard(std::uint32_t host, transport::endpoint_options& link);
  void take(const events::rekey& e) { keys_->take(e); }
  /// An outsider visits a life of a host, by number.
  void begin(const events::outsider& e, std::uint32_t place, std::uint64_t life);

  const cluster_keys& keys() const noexcept { return *keys_; }
  /// Null if there are none.
  const outsiders* strangers() const noexcept { return strangers_.get(); }
  /// The frames that have passed over connections which should not have come up.
  std::uint64_t unbound_frames() const noexcept;
  void note_seen(coverage& seen) const;

 private:
  explicit guarding(std::unique_ptr<cluster_keys> keys) noexcept : keys_(std::move(keys)) {}

  const testing::sim_network* messages_ = nullptr;
  const testing::sim_network* bulk_ = nullptr;
  std::unique_ptr<cluster_keys> keys_;
  std::unique_ptr<outsiders> strangers_;
};

}  // namespace scoll::sim
