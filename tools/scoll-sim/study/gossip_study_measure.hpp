#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tools/scoll-sim/study/gossip_study.hpp"
#include "tools/scoll-sim/study/gossip_study_cluster.hpp"

namespace scoll::sim {

/// Counts ages, messages and clocks while no node dies.
class study_measure final : public study_watcher {
 public:
  explicit study_measure(study_cluster& cluster);

  /// Runs the cluster for the case's cycles and adds what was seen to `result`.
  void run(study_result& result);

  void on_tick(std::uint32_t host, std::span<const std::uint8_t> ages, bool waited) override;
  void on_ping() override { ++pings_; }
  void on_arrival(std::uint64_t own, std::uint64_t heard) override;
  void on_answer(std::span<const std::uint8_t> ages) override;

 private:
  using histogram = std::array<std::uint64_t, 256>;

  std::size_t expected_ticks() const;
  void enter_block(std::size_t which);
  histogram& count_ages(std::span<const std::uint8_t> ages);
  void set_odd_apart(histogram& counts, std::uint32_t host, std::span<const std::uint8_t> ages);
  void look_at_clocks();

  void conclude_ages(study_result& result);
  void conclude_fits(study_result& result) const;
  void conclude_messages(study_result& result) const;
  void conclude_clocks(study_result& result);

  study_cluster& cluster_;
  const study_case& case_;
  const std::uint32_t columns_;
  std::size_t ticks_ = 0;
  std::vector<histogram> blocks_;
  std::size_t block_ = 0;
  std::array<histogram, 4> counts_{};  // of the present block
  histogram odd_{};                    // of the lossy node, or at the fast one
  std::array<std::uint64_t, 64> lateness_{};
  std::uint64_t waits_ = 0, pings_ = 0, entries_ = 0, replies_ = 0;
  std::vector<double> spreads_;
};

}  // namespace scoll::sim
