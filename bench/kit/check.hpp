#pragma once

#include <string>

#include "report.hpp"

namespace bench {

/// Compares rows with the limits in a JSON file: an array of objects, each with `where` (fields and the
/// values that a row must have to be meant), `field` and `at_most`. Prints a line per limit; those without a
/// row are named as not measured. True if something was compared and nothing is above its limit.
bool check(const std::string& limits_file, const rows& measured);

}  // namespace bench
