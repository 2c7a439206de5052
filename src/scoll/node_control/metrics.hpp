#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scoll/node.hpp"
#include "scoll/node_control/metrics_text.hpp"
#include "transport/io/reactor.hpp"

namespace scoll::detail {

/// The most functions, and the most peers, that have series of their own; the others are left out.
inline constexpr std::size_t most_series = 256;

/// Describes a node and its reactor in Prometheus' text format. The last line is "# EOF".
std::string node_metrics(node& of, transport::reactor& loop);

/// Writes the calls of the served functions.
void write_functions(metrics_text& to, const std::vector<function_snapshot>& functions);

}  // namespace scoll::detail
