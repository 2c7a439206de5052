#pragma once

#include <cstdint>

#include "scoll/scoll.hpp"
#include "tally_board.hpp"

namespace scoll::test {

/// Marks on the board that this process executes.
struct tally {
  static constexpr service_id id{0x0302};
  static constexpr std::string_view name = "tally";
  struct request {
    std::uint32_t storm = 0;
    std::uint32_t number = 0;  ///< of the broadcast within the storm
    std::uint32_t work_us = 0;
  };
  using reply = sum<std::uint32_t>;

  tally_board* board;

  task<result<reply>> execute(const request& r, bcast_context& c) const;
};

/// Broadcasts with `repair` as the board says, one after the other, until somebody was lost and a few more
/// broadcasts are through, or the board is full. All accounts are on the board then.
task<void> broadcast_until_loss(node& root, const group<tally>& members, tally_board& board);

}  // namespace scoll::test
