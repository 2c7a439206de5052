#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"

namespace bench::revoke {

/// Processes that hold two groups of all of them, plan A and plan B. An operation of plan A waits at every
/// member; the first process revokes plan A and goes on with plan B.
struct setting {
  std::uint32_t nodes = 16;
  std::string congestion_control;
};

/// Each repetition notes these figures, in this order; times are in ns.
enum class figure : std::uint8_t {
  last_leaf,  ///< a broadcast of 64 bytes: when the last member executes it
  before_1,   ///< broadcasts of plan B before the revoke, from their beginning to their result
  before_2,
  last_notice,  ///< from the call of `revoke` until the last member has ended its part of plan A
  interrupted,  ///< until the await of the interrupted operation has ended
  after_1,      ///< broadcasts of plan B after that
  after_2,
  after_3,
  notices,  ///< the number of notices that all processes have sent
};
inline constexpr std::size_t figures = static_cast<std::size_t>(figure::notices) + 1;
inline constexpr std::array<std::string_view, figures> figure_names{
    "last-leaf", "before", "before (A/A)", "last-notice", "interrupted",
    "first",     "second", "third",        "notices"};

/// The part of one process. With `order::background` large replies come to the first process all the time.
void play(member& me, const setting& s);

struct options {
  std::vector<std::uint32_t> nodes{16, 64};
};

/// Runs all cases, each without other traffic and below large replies.
rows run(const bench::options& common, const options& o);

}  // namespace bench::revoke
