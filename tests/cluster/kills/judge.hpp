#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tally_board.hpp"

namespace scoll::test {

/// What became of the broadcasts of one storm in which one process was killed.
struct verdict {
  std::vector<std::string> faults;  ///< each a sentence; none if every account is true
  std::uint32_t broadcasts = 0;
  std::uint32_t losses = 0;       ///< broadcasts in which the killed process is not merged
  std::uint32_t unknown = 0;      ///< of these, how often it is unknown
  std::uint32_t not_reached = 0;  ///< likewise
  std::uint32_t refused = 0;      ///< likewise, because its next life does not know the group
  std::uint32_t executed = 0;     ///< how often it had executed, whatever the account calls it
  std::int64_t longest_ns = 0;    ///< of all broadcasts
};

/// Compares what the root was told with what the processes have written down themselves.
verdict judge(const tally_board& board, std::uint32_t killed);

}  // namespace scoll::test
