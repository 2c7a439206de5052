#include "tools/scoll-sim/exhaust/exhaust_command.hpp"

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {
namespace {

bool run_subject(const exhaust_subject& subject, const exhaust_settings& settings, bool json) {
  const auto start = std::chrono::steady_clock::now();
  bool all_held = true;
  for (const exhausted& part : subject.run(settings)) {
    const bool held = part.violation.empty() && part.cases != 0;
    all_held = all_held && held;
    if (json) {
      std::fputs(fmt::format("{{\"subject\":\"{}\",\"part\":\"{}\",\"cases\":{},\"ok\":{}}}\n", subject.name,
                             part.part, part.cases, held)
                     .c_str(),
                 stdout);
    } else {
      std::fputs(fmt::format("{:>10} cases  {}\n", part.cases, part.part).c_str(), stdout);
    }
    if (!held) std::fputs(fmt::format("violated: {}: {}\n", part.part, part.violation).c_str(), stdout);
    for (const std::string& step : part.way) std::printf("  %s\n", step.c_str());
    std::fflush(stdout);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!json) std::fputs(fmt::format("{}: {:.1f} s\n", subject.name, seconds).c_str(), stdout);
  return all_held;
}

}  // namespace

void add_exhaust_options(CLI::App& app, exhaust_arguments& a) {
  std::vector<std::string> names{"all"};
  std::string help = "try every case of what is small enough:";
  for (const exhaust_subject& subject : exhaust_subjects()) {
    names.emplace_back(subject.name);
    help += fmt::format(" {} ({}),", subject.name, subject.what);
  }
  app.add_option("--exhaust", a.subject, help + " or all of them")
      ->check(CLI::IsMember(names))
      ->group("Exhaustive checks");
  app.add_option("--exhaust-members", a.most_members,
                 "for --exhaust bulk, kill and kill-two: the largest group, instead of 17 and 33")
      ->check(CLI::Range(2U, 64U))
      ->group("Exhaustive checks");
  app.add_option("--exhaust-tree", a.tree, "for --exhaust kill and kill-two: this tree alone")
      ->check(CLI::IsMember({"chain", "knomial:2", "knomial:4", "kary:3"}))
      ->group("Exhaustive checks");
  app.add_option("--exhaust-policy", a.policy, "for --exhaust kill and kill-two: this policy alone")
      ->check(CLI::IsMember({"degrade", "fail_fast", "repair"}))
      ->group("Exhaustive checks");
}

int run_exhaust(const exhaust_arguments& a, const exhaust_settings& settings, bool json) {
  exhaust_settings how = settings;
  how.most_members = a.most_members;
  how.tree = a.tree;
  how.policy = a.policy;
  bool all_held = true;
  for (const exhaust_subject& subject : exhaust_subjects()) {
    if (a.subject == "all" || a.subject == subject.name) all_held &= run_subject(subject, how, json);
  }
  return all_held ? 0 : 1;
}

}  // namespace scoll::sim
