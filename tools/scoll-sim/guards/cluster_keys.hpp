#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tools/scoll-sim/plan/events.hpp"
#include "transport/sim/sim_security.hpp"

namespace scoll::sim {

/// The security of a cluster whose connections are guarded: which keys each host has, whatever life it is in.
/// The cluster goes from one key to another in three steps, each complete on all hosts before the next.
class cluster_keys {
 public:
  static constexpr std::uint32_t last_step = 3;

  cluster_keys(const testing::sim_handshake& form, std::uint64_t seed, std::uint32_t hosts);

  /// From now on nodes have certificates.
  void certify() noexcept;
  /// Makes the security of a new life of a host, with the keys of the host, and the certificate of its node if nodes have
  /// any.
  std::shared_ptr<transport::link_security> made_for(std::uint32_t host) { return made_for(host, host); }
  /// Likewise, with the certificate of the node that is usually at another host.
  std::shared_ptr<transport::link_security> made_for(std::uint32_t host, std::uint32_t named);
  /// Takes the step on a host. False if it is not its next one, or another host is not so far.
  bool take(const events::rekey& e);
  std::uint32_t step_of(std::uint32_t host) const noexcept { return steps_[host]; }
  /// True if every host has given up the first key.
  bool changed() const noexcept;

  /// The mode of the nodes, as a hello says it.
  std::uint8_t mode() const noexcept;
  bool certified() const noexcept { return authority_ != 0; }
  std::uint64_t authority() const noexcept { return authority_; }
  const testing::sim_handshake& form() const noexcept { return form_; }
  const testing::sim_guard_counts& counts() const noexcept { return *counts_; }
  /// Handshakes that a node has accepted to their end, and that no node has made: somebody has repeated one.
  std::uint64_t repeated_handshakes() const noexcept;
  /// The ring of those who have taken so many steps.
  testing::sim_ring ring_after(std::uint32_t step) const;
  /// The id of the key that the hosts which are furthest offer.
  std::uint32_t offered_id() const;
  /// A key that the cluster never has.
  testing::sim_key foreign_key() const;

 private:
  testing::sim_handshake form_;
  std::uint64_t seed_;
  std::uint64_t lives_ = 0;
  std::uint64_t authority_ = 0;                                  // 0: there are no certificates
  std::vector<std::uint32_t> steps_;                             // by host
  std::vector<std::shared_ptr<testing::sim_security>> present_;  // by host: of its latest life
  std::shared_ptr<testing::sim_guard_counts> counts_ = std::make_shared<testing::sim_guard_counts>();
};

}  // namespace scoll::sim
