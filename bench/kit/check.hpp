#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "report.hpp"

namespace bench {

/// The benchmarks that the program knows. Rows are of benchmarks whose names are these, or continue them after a
/// hyphen.
struct known_benchmarks {
  std::vector<std::string> names;
  /// True if the benchmark has this option.
  std::function<bool(const std::string& name, const std::string& option)> has_option;

  /// The benchmark that makes rows of this one; empty if none does.
  std::string maker_of(std::string_view bench) const;
};

/// Upper limits of figures, from a JSON file: an array of objects, each with `where` (fields and the values
/// that select the rows; `bench` is one of them), `field` and `at_most`.
class limits {
 public:
  /// Throws if the file cannot be read or has another form; the message names the file.
  explicit limits(const std::string& file);

  /// Compares the measured rows with the limits, and prints a line for each limit of the benchmark that ran:
  /// `ok`, `ABOVE`, `no field` for a row without the figure, and `unmeasured` if no row is selected, such as
  /// for sizes that were not requested. Warns if twins differ so much that the comparison means nothing.
  /// Returns true if something was compared, nothing is above its limit and no figure is missing.
  bool hold_for(const rows& measured, const std::string& ran, const known_benchmarks& all) const;
  /// Prints each limit behind the command that measures it.
  void print_commands(const known_benchmarks& all) const;

 private:
  struct limit {
    row where;
    std::string field;
    double at_most;
  };
  std::vector<limit> all_;
};

}  // namespace bench
