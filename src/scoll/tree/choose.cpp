#include "scoll/tree/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "scoll/tree/any_tree.hpp"

namespace scoll {
namespace {

/// The precision of predictions that is assumed when trees are compared.
constexpr std::uint64_t tolerance_percent = 5;

/// The radices worth predicting. A k-ary tree with k >= n - 1 and a k-nomial tree with k >= n are flat.
std::vector<std::uint32_t> radices_below(std::uint32_t limit, bool powers_of_two_only) {
  constexpr std::uint32_t all_up_to = 16;
  constexpr std::uint32_t most = 65535;
  std::vector<std::uint32_t> found;
  for (std::uint32_t k = 2; k < limit && k <= most;) {
    found.push_back(k);
    k += powers_of_two_only ? k : k < all_up_to ? 1 : k / 8;
  }
  return found;
}

std::uint32_t in_units(std::uint64_t time, std::uint64_t unit) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>((time + unit / 2) / unit, UINT32_MAX));
}

/// A greedy tree with the ratios of these costs, in integers that a person can read.
greedy greedy_for(std::uint64_t latency, std::uint64_t gap, std::uint64_t merge) {
  constexpr std::uint64_t largest = 1000;
  const std::uint64_t unit = std::max({std::uint64_t{1}, gap / 8, std::max(latency, merge) / largest});
  return {std::max(in_units(latency, unit), 1U), std::max(in_units(gap, unit), 1U), in_units(merge, unit)};
}

/// The costs of the class by which most members are reached, for trees that assume equal links.
const link_costs& usual_costs(const link_map& links) {
  std::size_t usual = 0;
  std::ptrdiff_t most = -1;
  for (std::size_t i = 0; i < links.classes.size() && !links.class_of.empty(); ++i) {
    const auto count = std::count(links.class_of.begin() + 1, links.class_of.end(), i);
    if (count > most) std::tie(usual, most) = std::tuple(i, count);
  }
  return links.classes[usual].costs;
}

/// The powers of two below `members`, and the radix with which the members have two levels.
std::vector<std::uint32_t> radices_up_to(std::uint32_t members) {
  std::vector<std::uint32_t> found = radices_below(members, true);
  found.push_back(std::clamp(members, 2U, 65535U));
  return found;
}

/// Zoned trees for the zones and the largest zone that there are.
std::vector<tree_spec> zoned_trees(const std::vector<member_place>& places) {
  std::map<std::uint16_t, std::uint32_t> zones;
  for (const member_place& each : places) ++zones[each.zone];
  std::vector<tree_spec> all;
  if (zones.size() < 2) return all;
  const auto by_size = [](const auto& a, const auto& b) { return a.second < b.second; };
  const std::uint32_t largest = std::ranges::max_element(zones, by_size)->second;
  for (const std::uint32_t across : radices_up_to(static_cast<std::uint32_t>(zones.size()))) {
    for (const std::uint32_t within : radices_up_to(largest)) all.emplace_back(zoned{across, within});
  }
  return all;
}

any_tree resolved(const tree_spec& spec, std::uint32_t n, const tree_choice_options& options) {
  return any_tree::resolve(spec, n, options.places).value();
}

/// The candidates, the simplest first.
std::vector<tree_spec> trees_to_try(std::uint32_t n, const link_map& links,
                                    const tree_choice_options& options) {
  const bool few = n > 4096;
  std::vector<tree_spec> all{flat{}};
  if (n > 2) {
    for (const std::uint32_t k : radices_below(n, few)) all.emplace_back(knomial{k});
    for (const std::uint32_t k : radices_below(n - 1, few)) all.emplace_back(kary{k});
    all.emplace_back(chain{});
    const link_costs& c = usual_costs(links);
    const std::uint64_t latency = c.send + c.latency + c.receive;
    const std::uint64_t gap = std::max(c.gap, c.send);
    all.emplace_back(greedy_for(latency, gap, c.merge));
    const tree_spec waking = greedy_for(latency, gap, c.merge + c.wake);
    if (waking != all.back()) all.push_back(waking);
  }
  const std::vector<tree_spec> by_zone = zoned_trees(options.places);
  all.insert(all.end(), by_zone.begin(), by_zone.end());
  all.insert(all.end(), options.also.begin(), options.also.end());
  const auto useless = [&](const tree_spec& t) {
    if (check_tree(t, n) != tree_fault::none) return true;
    return t.kind != flat::kind && resolved(t, n, options).fan_out(n, 0) == n - 1;
  };
  std::erase_if(all, useless);
  return all;
}

/// The position of a tree's kind in the order of `trees_to_try`.
int complexity(const tree_spec& tree) {
  constexpr std::array kinds{flat::kind, knomial::kind, kary::kind, chain::kind, greedy::kind, zoned::kind};
  return static_cast<int>(std::find(kinds.begin(), kinds.end(), tree.kind) - kinds.begin());
}

tree_candidate candidate(const tree_spec& spec, std::uint32_t n, const link_map& links,
                         const tree_choice_options& options) {
  return {spec, predict(resolved(spec, n, options), n, links)};
}

const tree_candidate* find_tree(const tree_plan& plan, const tree_spec& tree) {
  const auto at = std::ranges::find(plan.candidates, tree, &tree_candidate::tree);
  return at == plan.candidates.end() ? nullptr : &*at;
}

/// The simplest of the trees that are as good as the fastest.
const tree_candidate& simplest_of_the_fastest(const std::vector<tree_candidate>& sorted) {
  const std::uint64_t fastest = sorted.front().predicted.merged;
  const std::uint64_t good_enough = fastest + fastest * tolerance_percent / 100;
  const auto end =
      std::ranges::find_if(sorted, [&](const tree_candidate& c) { return c.predicted.merged > good_enough; });
  return *std::min_element(sorted.begin(), end, [](const tree_candidate& a, const tree_candidate& b) {
    return complexity(a.tree) < complexity(b.tree);
  });
}

std::string us(std::uint64_t ns) {
  return fmt::format("{:.1f} us", static_cast<double>(ns) / 1e3);
}
std::string count(std::uint32_t n, const char* one, const char* many) {
  return fmt::format("{} {}", n, n == 1 ? one : many);
}
std::string behind(const tree_candidate& c, std::uint64_t fastest) {
  if (fastest == 0) return "";
  const auto more = static_cast<double>(c.predicted.merged - fastest) / static_cast<double>(fastest);
  return fmt::format("+{:.1f} %", more * 100);
}

/// Says what speaks against fewer levels, and what against more.
std::string reason(const tree_plan& plan) {
  const tree_prediction& chosen = *plan.predicted;
  const std::uint32_t children = plan.members - 1;
  if (plan.members == 1) return "there is no other member";
  if (plan.members == 2) return "there is only one way to reach one member";
  std::string text;
  if (plan.tree.kind == flat::kind) {
    const auto deeper = std::ranges::find_if(
        plan.candidates, [](const tree_candidate& c) { return c.tree.kind != flat::kind; });
    text = fmt::format("{} sends and merges by the root take {}; the best with another level, {}, takes {}",
                       children, us(chosen.merged), to_string(deeper->tree), us(deeper->predicted.merged));
  } else {
    const tree_prediction& wide = find_tree(plan, flat{})->predicted;
    text = fmt::format(
        "flat has the root send and merge {} times one after the other, {}; {} needs {} levels "
        "and {} of the root",
        children, us(wide.merged), to_string(plan.tree), chosen.levels,
        count(chosen.root_fan_out, "child", "children"));
  }
  if (chosen.work_bound > 0 && chosen.work_bound * 10 >= chosen.merged * 9)
    text += "; the processors of a host are busy nearly all the time, so that no shape is much faster";
  const tree_candidate& fastest = plan.candidates.front();
  if (fastest.tree != plan.tree && fastest.predicted.merged != chosen.merged) {
    text += fmt::format("; {} would be faster, but by less than the precision of predictions",
                        to_string(fastest.tree));
  }
  return text;
}

std::string pinned_by() {
  return "pinned by the setting node.pinned_tree";
}

void write_links(std::string& text, const link_map& links) {
  for (std::size_t i = 0; i < links.classes.size(); ++i) {
    const auto& [name, c, bulk] = links.classes[i];
    text += fmt::format("{}: send {}, receive {}, latency {}, gap {}, merge {}, wake {}\n", name, us(c.send),
                        us(c.receive), us(c.latency), us(c.gap), us(c.merge), us(c.wake));
    if (!bulk) continue;
    text +=
        fmt::format("{}: bulk data: hop {}, piece {}, {} ps a byte, {} ps to hash it, {} ps for the host",
                    name, us(bulk->hop_ns), us(bulk->piece_ns), bulk->link_ps, bulk->hash_ps, bulk->host_ps);
    if (bulk->host_small_ps != 0) text += fmt::format(", {} ps in small pieces", bulk->host_small_ps);
    text += '\n';
  }
}

void write_candidate(std::string& text, const tree_candidate& c, bool chosen, std::uint64_t fastest) {
  text +=
      fmt::format("{} {:<14} {:>12} {:>9}  {}, {} of the root\n", chosen ? '>' : ' ', to_string(c.tree),
                  us(c.predicted.merged), behind(c, fastest), count(c.predicted.levels, "level", "levels"),
                  count(c.predicted.root_fan_out, "child", "children"));
}

}  // namespace

tree_plan choose_tree(std::uint32_t members, const link_map& links, const tree_choice_options& options) {
  tree_plan plan{.members = members, .links = links};
  std::vector<tree_spec> all = trees_to_try(members, links, options);
  const bool pinned = options.pinned && check_tree(*options.pinned, members) == tree_fault::none;
  if (pinned && std::ranges::find(all, *options.pinned) == all.end()) all.push_back(*options.pinned);
  for (const tree_spec& tree : all) plan.candidates.push_back(candidate(tree, members, links, options));
  std::ranges::sort(plan.candidates, {}, [](const tree_candidate& c) {
    return std::tuple(c.predicted.merged, complexity(c.tree), c.tree.params);
  });

  const tree_candidate& best = simplest_of_the_fastest(plan.candidates);
  const tree_candidate& chosen = pinned ? *find_tree(plan, *options.pinned) : best;
  plan.tree = chosen.tree;
  plan.predicted = chosen.predicted;
  plan.pinned = pinned;
  plan.why = pinned ? fmt::format("{}; without it {} would be taken, with {}", pinned_by(),
                                  to_string(best.tree), us(best.predicted.merged))
                    : reason(plan);
  return plan;
}

tree_plan pinned_plan(std::uint32_t members, const tree_spec& tree) {
  return {.tree = tree, .members = members, .pinned = true, .why = pinned_by() + ": nothing was measured"};
}

std::string to_text(const tree_plan& plan, std::size_t shown) {
  std::string text = fmt::format("{} for {}", to_string(plan.tree), count(plan.members, "member", "members"));
  if (plan.predicted) {
    text += fmt::format(": the last is reached after {}, all is merged after {}", us(plan.predicted->reached),
                        us(plan.predicted->merged));
  }
  text += fmt::format("\nwhy: {}\n", plan.why);
  if (plan.candidates.empty()) return text;
  write_links(text, plan.links);
  const std::uint64_t fastest = plan.candidates.front().predicted.merged;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < plan.candidates.size(); ++i) {
    const bool chosen = plan.candidates[i].tree == plan.tree;
    if (i < shown || chosen) {
      write_candidate(text, plan.candidates[i], chosen, fastest);
    } else {
      ++left_out;
    }
  }
  if (left_out != 0) text += fmt::format("  and {} more\n", left_out);
  return text;
}

}  // namespace scoll
