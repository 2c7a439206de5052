#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "transport/wire/checksum.hpp"

namespace scoll::sim {

/// The result of a search through all states.
struct explored {
  std::uint64_t states = 0;
  std::uint64_t steps = 0;
  std::uint64_t ends = 0;        ///< states that reach what the search is about
  std::size_t deepest = 0;       ///< the most steps from the start
  bool complete = true;          ///< false: stopped at the limit of states
  std::string violation;         ///< empty if every state is right
  std::vector<std::string> way;  ///< the steps that lead to the violation
};

/// Visits every state that steps lead to, depth first. States are told apart by a hash of 64 bits of their
/// description. A `World` is a value with these members:
///
/// - `using step`, and `std::vector<step> steps() const`: the steps that are possible now;
/// - `void take(const step&)`, and `static std::string text_of(const step&)`;
/// - `std::string violation() const`: a sentence if the state must not be; empty if it may;
/// - `bool reached() const`: true for states that are counted in `explored::ends`;
/// - `void describe_to(std::vector<std::uint64_t>&) const`.
template <class World>
class explorer {
 public:
  explored run(const World& start, std::uint64_t most_states) {
    enter(start);
    while (!path_.empty() && report_.violation.empty()) {
      if (report_.states >= most_states) {
        report_.complete = false;
        break;
      }
      place& here = path_.back();
      if (here.next == here.steps.size()) {
        path_.pop_back();
        continue;
      }
      World after = here.world;
      after.take(here.steps[here.next++]);
      ++report_.steps;
      enter(std::move(after));
    }
    return std::move(report_);
  }

 private:
  struct place {
    World world;
    std::vector<typename World::step> steps;
    std::size_t next = 0;
  };

  void enter(World world) {
    description_.clear();
    world.describe_to(description_);
    if (!seen_.insert(wire::checksum(std::as_bytes(std::span(description_)))).second) return;
    ++report_.states;
    report_.ends += world.reached();
    report_.violation = world.violation();
    if (!report_.violation.empty()) {
      for (const place& p : path_) report_.way.push_back(World::text_of(p.steps[p.next - 1]));
      return;
    }
    std::vector<typename World::step> steps = world.steps();
    path_.push_back({std::move(world), std::move(steps)});
    report_.deepest = std::max(report_.deepest, path_.size());
  }

  explored report_;
  std::vector<place> path_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<std::uint64_t> description_;
};

}  // namespace scoll::sim
