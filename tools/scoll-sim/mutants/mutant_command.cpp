#include "tools/scoll-sim/mutants/mutant_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/mutants/mutant_hunt.hpp"

namespace scoll::sim {
namespace {

std::vector<mutant_record> read_records(const std::string& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  const std::string csv{std::istreambuf_iterator<char>(in), {}};
  try {
    return parse_mutant_records(csv);
  } catch (const std::runtime_error& e) {
    throw std::runtime_error(fmt::format("{}: {}", file, e.what()));
  }
}

/// A first hunt has no file to begin with.
std::vector<mutant_record> records_if_any(const std::string& file) {
  if (file.empty() || !std::filesystem::exists(file)) return {};
  return read_records(file);
}

void write_records(const std::string& file, const std::vector<mutant_record>& records) {
  std::ofstream out(file);
  out << to_csv(records);
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

int hunt(const mutant_arguments& a, const mutant_options& options, bool json) {
  const std::vector<mutant_report> reports = hunt_mutants(options);
  std::fputs((json ? to_json(reports) : to_table(reports)).c_str(), stdout);
  if (!a.write.empty()) write_records(a.write, updated(records_if_any(a.write), reports));
  return all_found(reports) ? 0 : 1;
}

int check(const std::string& file, std::uint32_t jobs, bool progress) {
  const std::vector<mutant_record> records = read_records(file);
  const std::vector<std::string> wrong = check_records(records, jobs, progress);
  for (const std::string& sentence : wrong) std::printf("%s\n", sentence.c_str());
  if (wrong.empty()) {
    std::printf("%zu mutants are found by the runs that %s names\n", records.size(), file.c_str());
    return 0;
  }
  std::printf("%s does not say what finds the mutants: run ./dev sim --mutants --write docs/mutants.csv\n",
              file.c_str());
  return 1;
}

}  // namespace

void add_mutant_options(CLI::App& app, mutant_arguments& a) {
  const std::string group = "Mutants";
  CLI::Option* const hunt =
      app.add_flag("--mutants", a.hunt, "see whether deliberate bugs are found, in the build that has them")
          ->group(group);
  CLI::Option* const only =
      app.add_option("--mutant", a.only, "this one, for --mutants or switched on in any other run")
          ->group(group);
  app.add_option(
         "--known", a.known,
         "begin --mutants with the runs that this file names, if it exists; by default that of --write")
      ->needs(hunt)
      ->group(group);
  app.add_option("--write", a.write, "write the runs that found mutants to this file, a table of all mutants")
      ->needs(hunt)
      ->group(group);
  app.add_option("--check-mutants", a.check,
                 "make the runs that this file names, and no others: each must find its mutant")
      ->excludes(hunt)
      ->excludes(only)
      ->group(group);
}

int run_mutant_command(const mutant_arguments& a, const plan_options& plan, std::uint32_t jobs, bool json,
                       bool quiet) {
  if (!has_mutants()) throw std::runtime_error("this build has no mutants: use ./dev sim --mutants");
  const bool progress = !quiet && isatty(STDERR_FILENO) != 0;
  jobs = std::max(1U, jobs);
  if (!a.check.empty()) return check(a.check, jobs, progress);
  if (!a.write.empty() && plan.faults != fault_profile::swarm)
    throw std::runtime_error("--write keeps runs with --faults swarm only");
  mutant_options options;
  options.plan = plan;
  options.known = records_if_any(a.known.empty() ? a.write : a.known);
  options.only = a.only;
  options.jobs = jobs;
  options.progress = progress;
  return hunt(a, options, json);
}

}  // namespace scoll::sim
