#include "tools/scoll-sim/plan/outsider_draws.hpp"

namespace scoll::sim {
namespace {

// More than a node takes of one address.
constexpr std::uint32_t crowd = 20;

}  // namespace

events::outsider drawn_outsider(draws& random, std::uint32_t hosts, std::uint32_t rails,
                                std::size_t manners) noexcept {
  const auto manner = static_cast<outsider_manner>(random.below(manners));
  const auto to = static_cast<std::uint32_t>(random.below(hosts));
  const auto rail = static_cast<std::uint32_t>(random.below(rails));
  const auto claims = static_cast<std::uint32_t>((to + random.between(1, hosts - 1)) % hosts);
  const bool many = random.chance(1, 3);
  const auto step = static_cast<std::uint32_t>(random.below(4));
  const bool may_be_many = manner == outsider_manner::silent || manner == outsider_manner::cut;
  const std::uint32_t count = many && may_be_many ? crowd : 1;
  return {manner, to, rail, claims, count, step};
}

}  // namespace scoll::sim
