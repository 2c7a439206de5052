#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace bench {

/// What figures must not exceed, from a JSON file: an array of objects, each with `where` (fields and the
/// values that a row must have to be meant; `bench` is one of them), `field` and `at_most`.
class limits {
 public:
  /// Throws if it cannot be read or is not of that form, with the file's name.
  explicit limits(const std::string& file);

  /// Compares the rows of what was measured, and prints a line for each limit of those benchmarks: `ok`,
  /// `ABOVE`, `no field` for a row without the figure, and `unmeasured` where no row is meant, such as for
  /// sizes that were not asked for. Says so when twins differ so much that nothing follows from the rest.
  /// True if something was compared, nothing is above its limit and no figure is missing.
  bool hold_for(const rows& measured) const;

 private:
  struct limit {
    row where;
    std::string field;
    double at_most;
  };
  std::vector<limit> all_;
};

}  // namespace bench
