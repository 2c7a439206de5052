#pragma once

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tools/scoll-sim/study/gossip_study_rows.hpp"

namespace scoll::sim {

/// The rows of a study in two files: NAME, and NAME with -ages before its extension. They grow with each new
/// row, so that an interrupted study can continue. At the end `put_in_order` writes both files again. Throws
/// `std::runtime_error` if a file cannot be read or written.
class gossip_study_files {
 public:
  /// With an empty name, nothing is written.
  gossip_study_files(const std::string& name, const std::vector<study_case>& plan, bool resume);

  /// Returns the row that the files already had, if the study continues.
  const study_row* found(const study_case& c) const;
  void add(const study_row& row);
  /// `rows` are all of them.
  void put_in_order(const std::vector<study_row>& rows);

 private:
  void read(const std::vector<study_case>& plan);
  void begin();

  std::string csv_name_, ages_name_;
  std::map<std::string, study_row> found_;
  std::ofstream csv_, ages_;
};

}  // namespace scoll::sim
