#include "tools/scoll-sim/mutants/mutant_hunt.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutant_sites.hpp"

namespace scoll::sim {
namespace {

using runs = std::vector<plan_options>;

constexpr std::string_view unharmed_name = "(none)";

bool same(const plan_options& a, const plan_options& b) {
  return a.seed == b.seed && a.hosts == b.hosts && a.faults == b.faults && a.work == b.work;
}

void add_once(runs& to, const plan_options& run) {
  if (std::ranges::none_of(to, [&](const plan_options& r) { return same(r, run); })) to.push_back(run);
}

/// Every workload that has a name.
std::vector<workload> workloads() {
  std::vector<workload> all;
  for (std::uint8_t i = 0; workload_named(to_string(static_cast<workload>(i))); ++i)
    all.push_back(static_cast<workload>(i));
  return all;
}

runs seeds_of(workload work, plan_options run, std::uint64_t seeds) {
  runs all;
  run.work = work;
  if (has_no_seeds(work)) seeds = 1;  // each is the same
  for (run.seed = 1; run.seed <= seeds; ++run.seed) all.push_back(run);
  return all;
}

std::vector<mutant_trial> trials_for(const mutant_options& options) {
  std::vector<mutant_trial> trials;
  for (const mutants::mutant& m : mutants::all()) {
    if (options.only.empty() || m.name == options.only)
      trials.push_back({std::string(m.name), runs_to_try(find_record(options.known, m.name), options)});
  }
  if (trials.empty()) throw std::runtime_error("there is no mutant " + options.only);
  return trials;
}

/// Runs without a mutant. Those that found one come first.
std::vector<mutant_trial> unharmed_trials(const std::vector<mutant_report>& reports,
                                          const mutant_options& options) {
  mutant_trial again;
  for (const mutant_report& r : reports) {
    if (r.found) add_once(again.runs, *r.found);
  }
  std::vector<mutant_trial> trials;
  if (!again.runs.empty()) trials.push_back(again);
  if (!options.only.empty()) return trials;
  for (const workload w : workloads()) trials.push_back({"", seeds_of(w, options.plan, options.seeds)});
  return trials;
}

mutant_report report_on_unharmed(const std::vector<mutant_trial>& trials, const mutant_options& options) {
  mutant_report sum;
  sum.mutant = unharmed_name;
  for (trial_result& r : run_trials(trials, options.jobs, options.progress)) {
    sum.seconds += r.seconds;
    if (!r.failed || sum.found) continue;
    sum.found = r.failed;
    sum.property = std::move(r.property);
  }
  return sum;
}

std::string to_arguments(const plan_options& run) {
  return fmt::format("--workload {} --nodes {} --seed {}", to_string(run.work), run.hosts, run.seed);
}

}  // namespace

bool has_mutants() {
  return !mutants::all().empty();
}

void check_texts() {
  std::string text;
  for (const std::string& sentence : mutants::problems())
    text += fmt::format("{}{}", text.empty() ? "" : "; ", sentence);
  if (!text.empty()) throw std::runtime_error(text);
}

std::vector<plan_options> runs_to_try(const mutant_record* known, const mutant_options& options) {
  plan_options first = known != nullptr ? known->run : options.plan;
  first.faults = options.plan.faults;
  runs all;
  if (known != nullptr) all.push_back(first);
  const auto add = [&](const runs& more) { all.insert(all.end(), more.begin(), more.end()); };
  add(seeds_of(first.work, first, options.seeds));
  for (const workload other : workloads()) {
    if (other != first.work) add(seeds_of(other, options.plan, options.seeds));
  }
  return all;
}

std::vector<mutant_report> hunt_mutants(const mutant_options& options) {
  const std::vector<mutant_trial> trials = trials_for(options);
  std::vector<trial_result> results = run_trials(trials, options.jobs, options.progress);
  std::vector<mutant_report> reports;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    trial_result& r = results[i];
    reports.push_back({trials[i].mutant, r.failed, std::move(r.property), r.seconds});
  }
  reports.insert(reports.begin(), report_on_unharmed(unharmed_trials(reports, options), options));
  return reports;
}

bool all_found(const std::vector<mutant_report>& reports) {
  return std::ranges::all_of(
      reports, [](const mutant_report& r) { return r.found.has_value() == (r.mutant != unharmed_name); });
}

std::vector<mutant_record> updated(const std::vector<mutant_record>& known,
                                   const std::vector<mutant_report>& reports) {
  std::vector<mutant_record> records;
  for (const mutants::mutant& m : mutants::all()) {
    const auto now = std::ranges::find(reports, m.name, &mutant_report::mutant);
    const mutant_record* const before = find_record(known, m.name);
    if (now != reports.end() && now->found) {
      records.push_back({now->mutant, *now->found, now->property});
    } else if (before != nullptr) {
      records.push_back(*before);
    }
  }
  return records;
}

std::vector<std::string> check_records(const std::vector<mutant_record>& records, std::uint32_t jobs,
                                       bool progress) {
  std::vector<std::string> wrong;
  std::vector<mutant_trial> trials;
  runs distinct;
  const std::vector<mutants::mutant> all = mutants::all();
  for (const mutant_record& r : records) {
    if (std::ranges::find(all, r.mutant, &mutants::mutant::name) == all.end()) {
      wrong.push_back(fmt::format("{} is not a mutant of this program", r.mutant));
    } else {
      trials.push_back({r.mutant, {r.run}});
      add_once(distinct, r.run);
    }
  }
  for (const mutants::mutant& m : all) {
    if (find_record(records, m.name) == nullptr) wrong.push_back(fmt::format("{} has no row", m.name));
  }
  for (const plan_options& run : distinct) trials.push_back({"", {run}});
  const std::vector<std::string> unexpected = judge(trials, run_trials(trials, jobs, progress));
  wrong.insert(wrong.end(), unexpected.begin(), unexpected.end());
  return wrong;
}

std::vector<std::string> judge(const std::vector<mutant_trial>& trials,
                               const std::vector<trial_result>& results) {
  std::vector<std::string> wrong;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const std::string& mutant = trials[i].mutant;
    const std::string run = to_arguments(trials[i].runs.front());
    if (mutant.empty() && results[i].failed)
      wrong.push_back(fmt::format("{} fails without a mutant: {}", run, results[i].property));
    if (!mutant.empty() && !results[i].failed)
      wrong.push_back(fmt::format("{} is not found with {}", mutant, run));
  }
  return wrong;
}

std::string to_table(const std::vector<mutant_report>& reports) {
  constexpr std::string_view form = "{:<30} {:>8} {:>5} {:>5} {:>6}  {}\n";
  std::string text = fmt::format(form, "mutant", "workload", "nodes", "seed", "s", "property");
  for (const mutant_report& r : reports) {
    const std::string seconds = fmt::format("{:.1f}", r.seconds);
    if (r.found) {
      text += fmt::format(form, r.mutant, to_string(r.found->work), r.found->hosts, r.found->seed, seconds,
                          r.property);
    } else {
      const std::string_view result = r.mutant == unharmed_name ? "all hold" : "SURVIVED";
      text += fmt::format(form, r.mutant, "-", "-", "-", seconds, result);
    }
  }
  return text;
}

std::string to_json(const std::vector<mutant_report>& reports) {
  auto all = nlohmann::ordered_json::array();
  for (const mutant_report& r : reports) {
    nlohmann::ordered_json one{{"mutant", r.mutant},
                               {"workload", nullptr},
                               {"nodes", nullptr},
                               {"seed", nullptr},
                               {"seconds", std::round(r.seconds * 1000) / 1000},
                               {"property", nullptr}};
    if (r.found) {
      one["workload"] = to_string(r.found->work);
      one["nodes"] = r.found->hosts;
      one["seed"] = r.found->seed;
      one["property"] = r.property;
    }
    all.push_back(std::move(one));
  }
  return all.dump(1) + "\n";
}

}  // namespace scoll::sim
