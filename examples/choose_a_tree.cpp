// Shows the shapes of trees and their predicted cost on links that have been measured. Needs no cluster.
#include <fmt/core.h>

#include <iostream>

#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/choose.hpp"
#include "scoll/tree/draw.hpp"
#include "scoll/tree/predict.hpp"

namespace {

constexpr scoll::tree_spec candidates[] = {scoll::flat{},     scoll::kary{4},    scoll::knomial{2},
                                           scoll::knomial{4}, scoll::knomial{8}, scoll::greedy{7, 1, 1}};

void draw(const scoll::tree_spec& spec, std::uint32_t members) {
  fmt::print("{}\n", to_string(spec));
  draw_text(std::cout, scoll::any_tree::resolve(spec, members).value(), members);
}

/// Latency, gap and merge share one unit of your choice; here it is microseconds.
std::uint64_t predict(std::uint32_t members, std::uint64_t latency, std::uint64_t gap, std::uint64_t merge) {
  fmt::print("{} members, latency {} us, gap {} us, merge {} us\n", members, latency, gap, merge);
  std::uint64_t best = ~0ULL;
  for (const scoll::tree_spec& spec : candidates) {
    const auto tree = scoll::any_tree::resolve(spec, members).value();
    const auto cost = scoll::predict(tree, members, latency, gap, merge);
    fmt::print("  {:14} reached {:5} merged {:5} levels {:2} children of the root {}\n", to_string(spec),
               cost.reached, cost.merged, cost.levels, cost.root_fan_out);
    best = std::min(best, cost.merged);
  }
  return best;
}

/// Does what `scoll::plan_tree` does with the costs it has measured. Times are in ns; there are two
/// processors for every four members.
scoll::tree_spec choose(std::uint32_t members) {
  scoll::link_map links;
  links.classes = {
      {"same rack", {.send = 2000, .receive = 6000, .latency = 9000, .merge = 1500, .wake = 4000}}};
  for (std::uint32_t i = 0; i < members; ++i) links.host_of.push_back(i / 4);
  links.class_of.assign(members, 0);
  links.processors.assign((members + 3) / 4, 2);
  const scoll::tree_plan plan = choose_tree(members, links);
  fmt::print("{}", to_text(plan));
  return plan.tree;
}

}  // namespace

int main() {
  draw(scoll::knomial{2}, 10);
  draw(scoll::knomial{4}, 10);
  draw(scoll::greedy{7, 1, 1}, 10);
  const std::uint64_t small = predict(16, 7, 1, 1);
  const std::uint64_t large = predict(1024, 7, 1, 1);
  const bool same = choose(16) == choose(16);  // equal costs, equal plans

  // Configurations use the text form. Text from outside may not describe a tree at all.
  const auto parsed = scoll::parse_tree("knomial:4");
  return same && small < large && parsed == scoll::tree_spec(scoll::knomial{4}) && !scoll::parse_tree("oak:3")
             ? 0
             : 1;
}
