#include "zones.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/kit/group_contestant.hpp"
#include "prediction.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/knomial.hpp"
#include "scoll/tree/zoned.hpp"

namespace bench::bcast {
namespace {

constexpr scoll::knomial beside{8};
constexpr scoll::zoned by_zone{4, 8};

/// The edges between members of different zones.
std::uint32_t edges_across(const setting& s) {
  const scoll::any_tree tree = any_tree_of(s);
  std::uint32_t across = 0;
  for (std::uint32_t i = 1; i < s.nodes; ++i) across += s.zone_of(i) != s.zone_of(tree.parent(s.nodes, i));
  return across;
}

row row_of(const setting& s, const score& of) {
  row r;
  r["bench"] = "bcast-zoned";
  r["subject"] = "scoll";
  r["nodes"] = s.nodes;
  r["size"] = s.size;
  r["tree"] = to_string(s.tree);
  r["zones"] = s.zones;
  r["edges_across"] = edges_across(s);
  add_score(r, of);
  r["allocs_per_op"] = of.total.allocations;
  return r;
}

}  // namespace

rows measure_zones(const bench::options& common, const setting& s, std::uint32_t zones) {
  std::vector<setting> settings;
  std::vector<subject> subjects;
  for (const scoll::tree_spec& tree : {scoll::tree_spec(by_zone), scoll::tree_spec(beside)}) {
    setting& each = settings.emplace_back(s);
    each.tree = tree;
    each.zones = zones;
    subjects.push_back(group_subject(to_string(tree), s.nodes, &play_scoll, each));
  }
  const auto scores = hold(
      subjects, common.contest(std::clamp(6400 / s.nodes, 50U, 1000U),
                               fmt::format("bcast-zoned, {} nodes, {} B, {} zones", s.nodes, s.size, zones)));
  rows found;
  for (std::size_t i = 0; i < scores.size(); ++i) found.push_back(row_of(settings[i], scores[i]));
  add_ratios(found[0], scores[0], scores[1]);
  found[0]["against"] = to_string(settings[1].tree);
  return found;
}

}  // namespace bench::bcast
