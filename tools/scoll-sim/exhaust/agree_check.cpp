#include "tools/scoll-sim/exhaust/agree_check.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/exhaust/agree_engine.hpp"
#include "tools/scoll-sim/exhaust/explore.hpp"

namespace scoll::sim {
namespace {

using detail::quorum_rule;

constexpr std::uint64_t most_states = 20'000'000;

std::string text_of(const agree_bounds& b) {
  return fmt::format("agree, {} members, {} proposers, {} ballots, {}, {}{}", agree_model::members,
                     b.proposers, b.ballots, b.rule == quorum_rule::majority ? "majority" : "survivors",
                     b.wrong_verdicts ? "any verdict" : "right verdicts",
                     b.second_asks ? ", second asks" : "");
}

}  // namespace

exhausted check_agreement(const agree_bounds& bounds) {
  explored found = explorer<agree_model>().run(agree_model(bounds), most_states);
  if (found.violation.empty() && !found.complete) found.violation = "there are more states than the limit";
  if (found.violation.empty() && found.ends == 0) found.violation = "no state has a decision";
  return {text_of(bounds), found.states, std::move(found.violation), std::move(found.way)};
}

namespace {

/// What the runs of nodes do not find is found within the first of these bounds.
std::vector<agree_bounds> all_bounds() {
  agree_bounds three;
  three.second_asks = false;
  agree_bounds second;
  second.ballots = 2;
  agree_bounds survivors = three;
  survivors.rule = quorum_rule::survivors;
  survivors.wrong_verdicts = false;
  agree_bounds survivors_twice = second;
  survivors_twice.rule = quorum_rule::survivors;
  survivors_twice.wrong_verdicts = false;
  return {survivors_twice, three, second, survivors};
}

bool all_hold(const std::vector<exhausted>& parts) {
  return std::ranges::all_of(parts, [](const exhausted& part) { return part.violation.empty(); });
}

/// Checks the core by itself, up to the first part that does not hold.
void check_core(std::vector<exhausted>& into) {
  for (const agree_bounds& bounds : all_bounds()) {
    if (all_hold(into)) into.push_back(check_agreement(bounds));
  }
}

}  // namespace

std::vector<exhausted> exhaust_agree(const exhaust_settings&) {
  std::vector<exhausted> parts;
  check_core(parts);
  if (!all_hold(parts)) return parts;
  for (exhausted& part : exhaust_engine(false)) parts.push_back(std::move(part));
  return parts;
}

std::vector<exhausted> exhaust_agree_briefly() {
  std::vector<exhausted> parts = exhaust_engine(true);  // it takes less time
  check_core(parts);
  return parts;
}

}  // namespace scoll::sim
