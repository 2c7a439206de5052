#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scoll/bulk/costs.hpp"
#include "scoll/bulk/plan.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::sim {

/// Returns wires for bulk data: 10 us and 300 ps for a byte. A host takes in one stream's bytes at a time, and
/// gives out one stream's; its processor takes no time, as in the model.
testing::sim_link_model bulk_wire();

/// A broadcast with bulk data by one plan, in pieces of 64 KiB. Times are from its start until the last member
/// executes, in virtual time.
struct bulk_scale_row {
  std::uint32_t nodes = 0;
  bulk_plan plan{};
  std::uint32_t pieces = 0;
  /// No plan takes less on these wires: in each round a member receives one piece, and the number of members
  /// that have it doubles.
  std::uint64_t bound_ns = 0;
  std::uint64_t predicted_ns = 0;  ///< as the result of the broadcast tells
  std::uint64_t measured_ns = 0;
  std::string wrong;  ///< empty if the broadcast succeeded in a time that is possible and was predicted

  /// How much longer it took than was predicted, in parts of a thousand.
  std::int64_t error_permille() const noexcept;
  bool ok() const noexcept { return wrong.empty(); }
};

/// By how many percent a broadcast may take more or less than is predicted (docs/scale.md).
std::uint32_t bulk_tolerance_percent(const bulk_plan& plan, std::uint32_t pieces) noexcept;

/// The plans that are compared.
std::vector<bulk_plan> bulk_scale_plans();

/// What the root of a cluster has measured, and the broadcasts by each plan with each number of pieces.
struct bulk_scale_report {
  bulk_costs costs;
  std::vector<bulk_scale_row> rows;
};
bulk_scale_report run_bulk_scale(std::uint32_t nodes, const testing::sim_link_model& wire,
                                 const std::vector<std::uint32_t>& pieces);

// As text: a line per row, with a heading.

std::string bulk_scale_heading();
std::string bulk_scale_line(const bulk_scale_row& row);
std::string bulk_scale_json(const bulk_scale_row& row);

}  // namespace scoll::sim
