#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/scoll-sim/study/gossip_study.hpp"
#include "tools/scoll-sim/study/gossip_study_cluster.hpp"

namespace scoll::sim {

/// Kills nodes and measures how long the others take to notice.
class study_deaths final : public study_watcher {
 public:
  explicit study_deaths(study_cluster& cluster) : cluster_(cluster), case_(cluster.described()) {}

  /// Kills a few nodes at a time, at any moment of their cycles, until the case's number of deaths is
  /// reached. Later they return. Adds what was seen to `result`.
  void run(study_result& result);

  void on_tick(std::uint32_t host, std::span<const std::uint8_t> ages, bool waited) override;

 private:
  struct delays {
    double first = 0, last = 0;  // cycles from the death to the first and to the latest verdict
  };
  struct death {
    std::uint32_t host = 0;
    std::int64_t at = 0;
    std::uint32_t noticed = 0;  // by so many nodes
    delays until;
    std::vector<bool> noticed_by;  // by node
  };

  void kill(std::uint32_t count);
  bool may_die(std::uint32_t host) const;
  bool noticed_by_all(const death& d) const { return d.noticed >= cluster_.living(); }
  void wait_for_verdicts();
  void count_verdicts(study_result& result);
  void revive();
  void conclude(study_result& result) const;

  study_cluster& cluster_;
  const study_case& case_;
  std::vector<death> present_;
  std::vector<delays> noticed_;  // one for each death that all nodes have noticed
};

}  // namespace scoll::sim
