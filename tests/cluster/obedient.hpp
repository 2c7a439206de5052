#pragma once

#include <cstdint>
#include <string>

#include "kills/tally_board.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::test {

/// What makes a process the one that it is.
struct process_place {
  int socket = -1;  ///< for orders and reports
  std::uint64_t id = 0;
  std::string address{};
  tally_board* board = nullptr;  ///< shared by all processes
  nanoseconds patience{0};       ///< with a peer that cannot be reached; 0: the default
};

/// Carries out orders (`process_cluster`) until one of them is to quit. Returns the exit status.
int obey(const process_place& place);

}  // namespace scoll::test
