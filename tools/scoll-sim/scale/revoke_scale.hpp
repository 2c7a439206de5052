#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "transport/sim/sim_network.hpp"

namespace scoll::sim {

/// Revokes by rank 0 among real nodes, and the model of them.
struct revoke_scale_options {
  std::uint32_t nodes = 1000;  ///< 2 to `max_members`
  /// The latency must be a multiple of the overhead, which is the time unit of the model. The gap must not be
  /// longer than the overhead, and there must be no jitter.
  testing::sim_link_model wire;
  std::uint64_t seed = 1;  ///< of the deaths
  bool progress = false;   ///< on standard error
};

/// One revoke: when the last living member has heard, in o, and the notices sent, as measured and as the
/// model has it.
struct revoke_figures {
  double last = 0;
  std::uint32_t model_last = 0;
  std::uint64_t notices = 0;
  std::uint64_t model_notices = 0;
};

struct revoke_scale_report {
  double connecting = 0;  ///< when the last member has heard of a revoke that makes all connections, in o
  revoke_figures clean;
  std::uint32_t dead =
      0;  ///< members that are dead in the last revoke, and nobody knows it; 0: there was none
  revoke_figures with_dead;
  std::uint32_t model_median = 0;  ///< of several draws of so many dead, when the last one hears
  std::uint32_t model_worst = 0;
  std::uint64_t events = 0;
  double wall_s = 0;
  std::uint64_t peak_kib = 0;
  std::array<char, 240> wrong{};  ///< the check that failed, if any

  bool ok() const noexcept { return wrong[0] == '\0'; }
};

/// The last member may hear so much earlier or later than the model says. The model has no bytes.
inline constexpr std::uint32_t revoke_tolerance_percent = 3;

/// Revokes groups of all members one after the other, in a process of its own: the first revoke makes all
/// connections, and the second finds them. Before the third 16 members die, if the graph bears that. It
/// fails if a living member does not hear, if the time is not that of the model, or if the notices of a
/// revoke without deaths differ from the model's by more than one in a hundred. Throws `std::runtime_error`
/// if that process dies, or for wires that the model does not have.
revoke_scale_report measure_revoke(const revoke_scale_options& options);

std::string revoke_scale_heading();
std::string revoke_scale_line(const revoke_scale_options& options, const revoke_scale_report& r);
std::string revoke_scale_csv_heading();
std::string revoke_scale_csv_line(const revoke_scale_options& options, const revoke_scale_report& r);
std::string revoke_scale_json(const revoke_scale_options& options, const revoke_scale_report& r);

}  // namespace scoll::sim
