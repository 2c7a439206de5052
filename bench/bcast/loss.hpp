#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "bcast.hpp"
#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"

namespace bench::bcast {

/// The times that the root notes of each repetition, in this order, in ns. A repetition kills two processes, one
/// after the other, each while a broadcast is under way.
enum class loss_figure : std::uint8_t {
  clean,          ///< a broadcast in which nobody dies, to as many processes
  repair,         ///< from the news of the first death to the result, with repair
  repair_in_all,  ///< from the beginning of that broadcast to its result
  anew,           ///< from the news of the second death to the result of a new broadcast to the survivors
  anew_in_all,    ///< from the beginning of the one that was aborted
};
inline constexpr std::size_t loss_figures = static_cast<std::size_t>(loss_figure::anew_in_all) + 1;

/// How many processes take the place of those that are killed: kills that come too late are repeated.
constexpr std::uint32_t spare_processes(std::uint32_t kills) {
  return 2 * kills + 8;
}

/// The part of one process of `s.nodes` and the spare ones. The root kills; an operation of an order is one
/// repetition.
void play_loss(member& me, const setting& s);

/// Measures how long a broadcast takes to repair the loss of an interior process, beside aborting it and
/// broadcasting anew, with so many kills of each kind.
rows measure_loss(const bench::options& common, const setting& s, std::uint32_t kills);

}  // namespace bench::bcast
