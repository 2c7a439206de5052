#pragma once

#include <string>

#include "report.hpp"

namespace bench {

/// Draws latency against size, nodes, tree and subject, as far as the rows differ in them, with gnuplot: SVG
/// files in `folder`, each with its script beside it. Says so when gnuplot is missing; the scripts stay.
void plot(const std::string& folder, const rows& all);

}  // namespace bench
