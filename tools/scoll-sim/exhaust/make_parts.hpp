#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// Makes `count` parts of a subject with the threads that the settings allow, and shows how far it is. The last
/// parts are made first: they are those of the largest groups, and take longest.
std::vector<exhausted> make_parts(std::string_view subject, std::size_t count,
                                  const exhaust_settings& settings,
                                  const std::function<exhausted(std::size_t)>& make);

}  // namespace scoll::sim
