#pragma once

#include <string>
#include <vector>

#include "report.hpp"

namespace bench {

/// Upper limits of figures, from a JSON file: an array of objects, each with `where` (fields and the values
/// that select the rows; `bench` is one of them), `field` and `at_most`.
class limits {
 public:
  /// Throws if the file cannot be read or has another form; the message names the file.
  explicit limits(const std::string& file);

  /// Compares the measured rows with the limits, and prints a line for each limit of the benchmarks that ran:
  /// `ok`, `ABOVE`, `no field` for a row without the figure, and `unmeasured` if no row is selected, such as
  /// for sizes that were not requested. Warns if twins differ so much that the comparison means nothing.
  /// Returns true if something was compared, nothing is above its limit and no figure is missing.
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
