#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"

namespace scoll::sim {

/// Notes by which rail messages go while another one has failed.
void note_use(const transport::session& s, const rails_plan& p, nanoseconds now, coverage& seen);
/// Notes connections that arrived at another rail than they named.
void note_crossed(const rails_plan& p, std::vector<std::unique_ptr<rails_host>>& hosts, coverage& seen);

/// Notes what the endpoints have counted.
void note_counts(const std::vector<std::unique_ptr<rails_host>>& hosts, coverage& seen);

/// True if the path between the first rails has failed so often that it must prove itself for longer than that.
bool proves_for_long(const transport::session& s, nanoseconds time) noexcept;

/// The paths to a peer, and what has become of them, for a report.
std::string describe_paths(const transport::session& s, time_point now);

}  // namespace scoll::sim
