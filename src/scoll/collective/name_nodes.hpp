#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/rank_set.hpp"

namespace scoll::detail {

/// Names members for an error: "node 6", "nodes 6 12", "nodes 1 2 3 4 5 6 7 8 and 3 more".
inline std::string name_nodes(const membership& members, const rank_set& ranks) {
  constexpr std::uint32_t most_named = 8;
  std::string names = ranks.size() == 1 ? "node" : "nodes";
  std::uint32_t named = 0;
  ranks.for_each([&](std::uint32_t rank) {
    if (named++ < most_named) names += fmt::format(" {}", members.node(rank));
  });
  if (named > most_named) names += fmt::format(" and {} more", named - most_named);
  return names;
}

}  // namespace scoll::detail
