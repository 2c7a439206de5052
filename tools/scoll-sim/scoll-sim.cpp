#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

#include "built_from_commit.hpp"
#include "gossip/configuration.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/batch.hpp"
#include "tools/scoll-sim/exhaust/exhaust_command.hpp"
#include "tools/scoll-sim/mutants/mutant_command.hpp"
#include "tools/scoll-sim/mutants/mutant_hunt.hpp"
#include "tools/scoll-sim/mutants/mutant_trials.hpp"
#include "tools/scoll-sim/plan/script.hpp"
#include "tools/scoll-sim/run.hpp"
#include "tools/scoll-sim/scale/scale_command.hpp"
#include "tools/scoll-sim/study/gossip_study_command.hpp"
#include "tools/scoll-sim/summary.hpp"

namespace {

using namespace scoll::sim;

struct arguments {
  plan_options plan;
  scale_arguments scale;
  exhaust_arguments exhaust;
  gossip_study_arguments study;
  mutant_arguments mutants;
  std::string faults = "swarm";
  std::string work = "mixed";
  std::string seeds;
  std::string script;
  std::string check_hashes;
  std::string minimise_to;
  std::uint32_t jobs = 2;
  bool trace = false;
  bool hashes = false;
  std::string log;
  bool seen = false;
  bool json = false;
  std::string json_to;
  bool quiet = false;
};

void print_record(const scoll::testing::sim_record& r) {
  std::printf("%" PRId64 " %u %u %" PRIx64 " %" PRIx64 "\n", std::int64_t{r.at.count()}, r.host,
              static_cast<unsigned>(r.kind), r.first, r.second);
}

/// Reads "1..1000", or one number.
std::pair<std::uint64_t, std::uint64_t> parse_range(const std::string& text) {
  const std::size_t dots = text.find("..");
  std::size_t used = 0;
  const std::uint64_t first = std::stoull(text, &used);
  if (dots == std::string::npos) {
    if (used != text.size()) throw std::runtime_error("--seeds wants A..B, not " + text);
    return {first, first};
  }
  const std::string rest = text.substr(dots + 2);
  const std::uint64_t last = std::stoull(rest, &used);
  if (used != rest.size() || first == 0 || last < first)
    throw std::runtime_error("--seeds wants A..B, not " + text);
  return {first, last};
}

std::string command_line(const plan_options& o) {
  return fmt::format("scoll-sim --seed {} --nodes {} --faults {} --workload {}", o.seed, o.hosts,
                     to_string(o.faults), to_string(o.work));
}

int minimise(const plan& p, const std::string& file) {
  const std::string property = failure_of(p);
  if (property.empty()) {
    std::fprintf(stderr, "this run does not fail: there is nothing to minimise\n");
    return 1;
  }
  const plan shortest = minimised(p, property);
  std::ofstream out(file);
  out << "# " << property << '\n' << to_text(shortest);
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
  std::fputs(fmt::format("{} of {} events violate '{}': {}\nreproduce: scoll-sim --script {}\ncommit: {}\n",
                         shortest.events.size(), p.events.size(), property, file, file, built_from_commit)
                 .c_str(),
             stdout);
  return 0;
}

int run_one(const arguments& a, const plan& p, const std::string& reproduce) {
  if (!a.minimise_to.empty()) return minimise(p, a.minimise_to);
  const auto start = std::chrono::steady_clock::now();
  const run_report r = run(p, a.trace ? &print_record : nullptr);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!a.quiet) print_summary(r, 1, seconds, seconds);
  if (a.seen) print_coverage(r.seen, 1);
  std::printf("trace hash  %016" PRIx64 "\n", r.trace_hash);
  return print_findings(r, reproduce, built_from_commit) ? 0 : 1;
}

std::string read_file(const std::string& name) {
  std::ifstream in(name);
  if (!in) throw std::runtime_error("cannot read " + name);
  return {std::istreambuf_iterator<char>(in), {}};
}

int run_many(const arguments& a) {
  batch_options options;
  options.plan = a.plan;
  std::tie(options.first, options.last) = parse_range(a.seeds);
  if (has_no_seeds(a.plan.work) && options.first != options.last)
    throw std::runtime_error(
        fmt::format("the workload {} draws nothing, so each of these seeds would be the same run: take "
                    "--seed 1, or --exhaust",
                    to_string(a.plan.work)));
  options.jobs = std::max(1U, a.jobs);
  options.progress = !a.quiet && isatty(STDERR_FILENO) != 0;
  options.keep_hashes = a.hashes;
  const auto start = std::chrono::steady_clock::now();
  const batch_report b = run_batch(options);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  for (const auto& [seed, hash] : b.hashes) std::printf("%" PRIu64 " %016" PRIx64 "\n", seed, hash);
  if (a.json) {
    print_json(b, seconds);
  } else if (!a.hashes && b.seeds != 0) {
    print_summary(b.sum, b.seeds, seconds, b.cpu_seconds);
  }
  if (a.seen) print_coverage(b.sum.seen, b.seeds);
  if (!a.log.empty()) log_batch(a.log, built_from_commit, options, b);
  if (!b.failed) return 0;
  plan_options failing = a.plan;
  failing.seed = b.failed_seed;
  std::printf("seed %" PRIu64 " failed\nreproduce: %s\n", failing.seed, command_line(failing).c_str());
  std::fflush(stdout);
  static_cast<void>(print_findings(run(draw_plan(failing)), command_line(failing), built_from_commit));
  return 1;
}

/// A seed, the hash of its trace, and the workload unless it is the usual one.
std::pair<plan_options, std::uint64_t> read_hash(const std::string& line, const arguments& a) {
  std::istringstream words(line);
  plan_options o = a.plan;
  std::uint64_t hash = 0;
  words >> o.seed >> std::hex >> hash;
  if (!words) throw std::runtime_error(a.check_hashes + " has a line that is no seed and hash: " + line);
  std::string name;
  if (!(words >> name)) return {o, hash};
  const std::optional<workload> work = workload_named(name);
  if (!work) throw std::runtime_error(a.check_hashes + " names no workload: " + line);
  o.work = *work;
  return {o, hash};
}

/// Checks that every seed in the file still has the trace hash beside it.
int check_hashes(const arguments& a) {
  std::istringstream in(read_file(a.check_hashes));
  int wrong = 0, checked = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto [o, expected] = read_hash(line, a);
    const run_report r = run(draw_plan(o));
    ++checked;
    if (r.trace_hash == expected && r.found.empty()) continue;
    ++wrong;
    std::printf("seed %" PRIu64 " of %s: %016" PRIx64 ", expected %016" PRIx64 "\n", o.seed,
                std::string(to_string(o.work)).c_str(), r.trace_hash, expected);
  }
  std::printf("%d trace hashes checked, %d differ\n", checked, wrong);
  return wrong == 0 && checked != 0 ? 0 : 1;
}

int go(const arguments& a) {
  check_texts();
  if (a.study.asked)
    return run_gossip_studies(a.study, a.plan.hosts, a.plan.seed, a.jobs, a.json_to, a.quiet);
  if (a.plan.hosts > most_hosts) throw std::runtime_error("--nodes is at most 256 but for --gossip-study");
  if (!a.json_to.empty()) throw std::runtime_error("--json takes a file with --gossip-study alone");
  if (a.mutants.asked()) return run_mutant_command(a.mutants, a.plan, a.jobs, a.json, a.quiet);
  if (!a.mutants.only.empty()) switch_on(a.mutants.only);
  if (!a.exhaust.subject.empty()) {
    exhaust_settings settings;
    settings.seed = a.plan.seed;
    settings.jobs = std::max(1U, a.jobs);
    settings.progress = !a.quiet && isatty(STDERR_FILENO) != 0;
    return run_exhaust(a.exhaust, settings, a.json);
  }
  if (!a.scale.nodes.empty()) return run_scales(a.scale, a.plan.seed, a.json, a.quiet);
  if (!a.check_hashes.empty()) return check_hashes(a);
  if (!a.script.empty()) return run_one(a, from_text(read_file(a.script)), "scoll-sim --script " + a.script);
  if (!a.seeds.empty()) return run_many(a);
  return run_one(a, draw_plan(a.plan), command_line(a.plan));
}

int go(int argc, char** argv) {
  arguments a;
  CLI::App app(
      "Runs whole clusters in virtual time, from seeds, on networks that do their worst, and checks what "
      "must hold. "
      "docs/simulator.md");
  app.add_option("--seed", a.plan.seed, "one run")->capture_default_str();
  app.add_option("--seeds", a.seeds, "a range of runs, A..B; stops at the first failure");
  app.add_option("--nodes", a.plan.hosts, "hosts, 1 to 256; of a study more")
      ->capture_default_str()
      ->check(CLI::Range(1U, scoll::gossip::most_participants));
  app.add_option("--faults", a.faults, "none, light, swarm")
      ->capture_default_str()
      ->check(CLI::IsMember({"none", "light", "swarm"}));
  app.add_option("--workload", a.work,
                 "mixed, plain, ship, gossip, bulk, agree, revoke, groups, rails, verbs, failures, streams")
      ->capture_default_str()
      ->check(CLI::IsMember({"mixed", "plain", "ship", "gossip", "bulk", "agree", "revoke", "groups", "rails",
                             "verbs", "failures", "streams"}));
  app.add_option("--jobs", a.jobs, "processes for a range of runs, threads for a study")
      ->capture_default_str()
      ->check(CLI::Range(1, 256));
  app.add_flag("--trace", a.trace, "print every record: ns, host, kind, operands");
  app.add_option("--log", a.log, "append to this file which runs of which commit held");
  app.add_flag("--seen", a.seen, "print in how many runs each thing that may be drawn was seen to happen");
  app.add_flag("--hashes", a.hashes, "print seed and trace hash of every run of a range");
  app.add_option("--check-hashes", a.check_hashes,
                 "run the seeds in a file of seeds, hashes and workloads, and compare");
  app.add_option("--script", a.script, "run the events in a file instead of drawing them");
  app.add_option("--minimise", a.minimise_to,
                 "of a run that fails: write a short script that still does to this file");
  CLI::Option* const json =
      app.add_option(
             "--json", a.json_to,
             "print the summary of a range, the table of --mutants or the figures of --scale as JSON; "
             "with --gossip-study: write the rows to this file")
          ->expected(0, 1);
  app.add_flag("--quiet", a.quiet, "no progress, no summary of a single run");
  add_mutant_options(app, a.mutants);
  add_scale_options(app, a.scale);
  add_exhaust_options(app, a.exhaust);
  add_gossip_study_options(app, a.study);
  CLI11_PARSE(app, argc, argv);
  a.json = json->count() != 0;
  a.plan.faults = *fault_profile_named(a.faults);
  a.plan.work = *workload_named(a.work);
  return go(a);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return go(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "scoll-sim: %s\n", e.what());
    return 2;
  }
}
