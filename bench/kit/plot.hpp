#pragma once

#include <string>

#include "report.hpp"

namespace bench {

/// Draws latency over size, nodes, tree and subject, as far as the rows differ in them, with gnuplot. It
/// writes SVG files into `folder`, each with its script beside it. If gnuplot is missing, it prints a message
/// and leaves the scripts. Throws if the folder cannot be made or written to.
void ensure_folder(const std::string& folder);
void plot(const std::string& folder, const rows& all);

}  // namespace bench
