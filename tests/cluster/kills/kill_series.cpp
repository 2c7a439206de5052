#include "kill_series.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "scoll/tree/any_tree.hpp"
#include "tests/support/build.hpp"

namespace scoll::test {
namespace {

using namespace std::chrono_literals;

/// How long the others wait for a peer that cannot be reached.
constexpr nanoseconds patience = slow_build ? 1s : 250ms;

const std::array<tree_spec, 6> trees{knomial{2}, knomial{4}, kary{2}, kary{3}, chain{}, greedy{7, 2, 0}};

std::vector<std::uint32_t> interiors(const tree_spec& tree) {
  const auto shape = any_tree::resolve(tree, kill_series::servers).value();
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 1; i < kill_series::servers; ++i) {
    if (shape.fan_out(kill_series::servers, i) != 0) found.push_back(i);
  }
  return found;
}

}  // namespace

kill_series::kill_series(std::uint64_t seed) : random_(seed), cluster_(servers, patience) {
  report_.seed = seed;
}

kill_series::draw kill_series::next_draw() {
  draw d;
  d.tree = trees[random_.below(trees.size())];
  const std::vector<std::uint32_t> candidates = interiors(d.tree);
  d.victim = candidates[random_.below(candidates.size())];
  d.how.members = servers;
  d.how.at_once = random_.chance(1, 3) ? 2 + static_cast<std::uint32_t>(random_.below(3)) : 1;
  d.how.work_us = random_.chance(1, 3) ? static_cast<std::uint32_t>(random_.below(3000)) : 0;
  d.how.deadline_ms = random_.chance(1, 2) ? 10'000 : 0;
  d.broadcasts_before = 1 + static_cast<std::uint32_t>(random_.below(12));
  d.us_before = static_cast<std::uint32_t>(random_.below(4000));
  d.back_at_once = random_.chance(1, 4);
  return d;
}

void kill_series::kill_one() {
  const draw d = next_draw();
  while (!strike(d)) ++report_.too_late;
}

bool kill_series::strike(const draw& d) {
  tally_board& board = cluster_.board();
  board.begin(d.how);
  order o = cluster_.for_all(order::kind::storm);
  o.tree = d.tree;
  cluster_.send(0, o);
  const auto limit = std::chrono::steady_clock::now() + 20s;
  while (board.broadcasts < d.broadcasts_before) {
    if (std::chrono::steady_clock::now() > limit) break;  // the report says why, or there is none
    usleep(20);
  }
  usleep(d.us_before);
  cluster_.kill(d.victim);
  if (d.back_at_once) cluster_.restart(d.victim);
  const test::report over = cluster_.next(0, report::kind::result);
  if (!d.back_at_once) cluster_.restart(d.victim);
  if (!over.ok) throw std::runtime_error(fmt::format("storm {}: no group: {}", board.how.storm, over.text));
  const verdict v = judge(board, d.victim);
  take(v, d);
  return v.losses != 0 || !v.faults.empty();
}

void kill_series::take(const verdict& v, const draw& d) {
  const std::uint32_t rounds = cluster_.board().rounds;
  report_.broadcasts += v.broadcasts;
  report_.losses += v.losses;
  report_.unknown += v.unknown;
  report_.not_reached += v.not_reached;
  report_.refused += v.refused;
  report_.executed += v.executed;
  report_.rounds += rounds;
  report_.late_groups = cluster_.board().late_groups;
  report_.longest_ns = std::max(report_.longest_ns, v.longest_ns);
  for (const std::string& each : v.faults)
    report_.faults.push_back(
        fmt::format("{} (tree {}, server {} killed)", each, to_string(d.tree), d.victim));
  if (v.losses == 0) return;
  ++report_.kills;
  report_.comebacks += d.back_at_once;
  report_.asked_again += rounds != 0;
}

}  // namespace scoll::test
