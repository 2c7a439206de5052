#pragma once

#include <string>

#include "report.hpp"

namespace bench {

/// Draws latency against size, nodes, tree and subject, as far as the rows differ in them, with gnuplot: SVG
/// files in `folder`, each with its script beside it. Says so when gnuplot is missing; the scripts stay.
/// Throws if it cannot be made or nothing can be written into it.
void ensure_folder(const std::string& folder);
void plot(const std::string& folder, const rows& all);

}  // namespace bench
