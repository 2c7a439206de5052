#include "tools/scoll-sim/exhaust/revoke_graph.hpp"

#include <array>
#include <bit>
#include <utility>

#include "scoll/collective/binomial_graph.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/revocation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/random.hpp"
#include "tools/scoll-sim/exhaust/revoke_engine.hpp"

namespace scoll::sim {
namespace {

// Sets of members are the bits of a number.
using member_set = std::uint32_t;
constexpr std::uint32_t most_set_members = 16;

std::uint32_t size_of(member_set s) {
  return static_cast<std::uint32_t>(std::popcount(s));
}

/// The living neighbours of a rank, in the eyes of one who holds `known` dead.
member_set neighbours(std::uint32_t n, member_set known, std::uint32_t rank) {
  std::array<std::uint32_t, most_set_members> dead{};
  std::size_t count = 0;
  for (std::uint32_t r = 0; r < n; ++r) {
    if ((known >> r & 1U) != 0) dead[count++] = r;
  }
  member_set found = 0;
  for (const std::uint32_t r : detail::binomial_graph(n, {dead.data(), count}).neighbours(rank))
    found |= 1U << r;
  return found;
}

/// Makes a group as one of its members holds it.
void fill(detail::group_state& group, std::uint32_t n) {
  std::vector<target> targets;
  targets.reserve(n);
  for (std::uint32_t i = 0; i < n; ++i) targets.push_back({i + 1, {}});
  group.members = membership::make(std::move(targets)).value();
}

/// Returns the members that the library tells at a rank that holds `known` dead, without the help of a tree.
member_set told_by(detail::group_state& group, member_set known, std::uint32_t rank) {
  std::vector<std::uint32_t> dead;
  for (std::uint32_t r = 0; r < group.members->size(); ++r) {
    if ((known >> r & 1U) != 0) dead.push_back(r);
  }
  detail::notice_head notice;
  notice.tree_kind = UINT8_MAX;
  group.self_rank = rank;
  member_set found = 0;
  for (const std::uint32_t r : detail::targets_of(group, notice, dead, 0).living) found |= 1U << r;
  return found;
}

/// Returns who hears of a revoke, if `views[r]` are those that r holds dead.
template <class Neighbours>
member_set flood(std::uint32_t initiator, member_set dead, const Neighbours& neighbours_of) {
  member_set heard = 1U << initiator;
  for (member_set to_do = heard; to_do != 0;) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(to_do));
    to_do &= to_do - 1;
    const member_set news = neighbours_of(rank) & ~dead & ~heard;
    heard |= news;
    to_do |= news;
  }
  return heard;
}

std::string case_text(std::uint32_t n, std::uint32_t initiator, member_set dead, member_set heard) {
  return fmt::format("{} members, from rank {}, dead {:#x}: only {:#x} hear", n, initiator, dead, heard);
}

}  // namespace

exhausted flood_with_drawn_views(std::uint32_t most_members, std::uint32_t draws, std::uint64_t seed) {
  exhausted part{
      fmt::format("up to {} members, fewer dead than the degree, views drawn", most_members), 0, {}, {}};
  random_generator random(seed);
  for (std::uint32_t n = 2; n <= most_members; ++n) {
    const member_set all = (1U << n) - 1;
    for (member_set dead = 0; dead <= all; ++dead) {
      if (size_of(dead) >= detail::binomial_degree(n)) continue;
      for (std::uint32_t draw = 0; draw < draws; ++draw) {
        std::array<member_set, most_set_members> edges{};
        const auto known = random.below(3);  // none of them, half, all
        for (std::uint32_t r = 0; r < n; ++r) {
          const auto half = static_cast<member_set>(random.next());
          const member_set view = known == 0 ? 0 : known == 1 ? dead & half : dead;
          edges[r] = neighbours(n, view & ~(1U << r), r);
        }
        for (std::uint32_t initiator = 0; initiator < n; ++initiator) {
          if ((dead >> initiator & 1U) != 0) continue;
          const member_set heard = flood(initiator, dead, [&](std::uint32_t r) { return edges[r]; });
          ++part.cases;
          if (heard == (all & ~dead)) continue;
          part.violation = case_text(n, initiator, dead, heard);
          return part;
        }
      }
    }
  }
  return part;
}

exhausted flood_with_equal_views(std::uint32_t most_members) {
  exhausted part{fmt::format("up to {} members, any known dead and others", most_members), 0, {}, {}};
  for (std::uint32_t n = 2; n <= most_members; ++n) {
    const member_set all = (1U << n) - 1;
    detail::group_state group;
    fill(group, n);
    for (member_set known = 0; known < all; ++known) {
      std::array<member_set, most_set_members> edges{};
      for (std::uint32_t r = 0; r < n; ++r) edges[r] = told_by(group, known, r);
      const member_set rest = all & ~known;
      const std::uint32_t bound = detail::binomial_degree(size_of(rest));
      for (member_set unknown = rest;; unknown = (unknown - 1) & rest) {
        for (std::uint32_t initiator = 0; initiator < n && size_of(unknown) < bound; ++initiator) {
          if (((known | unknown) >> initiator & 1U) != 0) continue;
          const member_set heard =
              flood(initiator, known | unknown, [&](std::uint32_t r) { return edges[r]; });
          ++part.cases;
          if (heard == (rest & ~unknown)) continue;
          part.violation = case_text(n, initiator, known | unknown, heard);
          return part;
        }
        if (unknown == 0) break;
      }
    }
  }
  return part;
}

std::vector<exhausted> exhaust_revoke(const exhaust_settings& settings) {
  return {flood_with_drawn_views(9, 16, settings.seed), flood_with_equal_views(10), kill_at_each_notice(9, 2),
          revoke_beside_calls(9), revoke_unknown_groups(9, 31)};
}

}  // namespace scoll::sim
