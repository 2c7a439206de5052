#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/scoll-sim/plan/plan.hpp"

namespace scoll::sim {

/// Writes a plan as a script: one line per event, "<ns> <kind> <operands>".
std::string to_text(const plan& p);
/// Reads a script; lines that begin with '#' are comments. Operands at the end of a line may be missing: they
/// have the values that mean nothing in particular. Throws `std::runtime_error` with the line's number.
plan from_text(std::string_view text);

/// The operands of an event as numbers, for a trace.
std::vector<std::uint64_t> numbers_of(const happening& e);

}  // namespace scoll::sim
