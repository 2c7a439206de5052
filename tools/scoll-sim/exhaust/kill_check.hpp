#pragma once

#include <cstdint>
#include <vector>

#include "tools/scoll-sim/exhaust/kill_trial.hpp"
#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

// Each of these makes the same broadcast over and over, as `kill_trial` does, with another misfortune in each run.

/// One member, which may be the root, meets its end at one step of the run that nobody disturbs. `stride`: of the
/// steps at which something happens.
exhausted strike_each_member(const kill_subject& subject, member_end what, std::uint32_t stride = 1);

/// One member calls another one dead, wrongly, at one step of the run that nobody disturbs.
exhausted doubt_by_each_member(const kill_subject& subject, std::uint32_t stride = 1);

/// One member meets its end at one step, and a second one at any step after that, until the await has ended.
exhausted strike_each_pair(const kill_subject& subject, member_end what, std::uint32_t stride = 1);

/// The same with drawn groups of 3 to `most_members` members, whose ends are drawn as well.
exhausted strike_drawn_pairs(std::uint32_t most_members, std::uint32_t draws, std::uint64_t seed);

/// One misfortune in groups from 2 to 33 members, over chains, k-nomial and k-ary trees, with each policy.
std::vector<exhausted> exhaust_kill(const exhaust_settings& settings);

/// Two misfortunes in groups of 3 to 9 members, and drawn ones in groups of up to 33.
std::vector<exhausted> exhaust_kill_two(const exhaust_settings& settings);

}  // namespace scoll::sim
