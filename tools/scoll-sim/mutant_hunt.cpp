#include "mutant_hunt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <utility>

#include "run.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::sim {
namespace {

using steady = std::chrono::steady_clock;

constexpr unsigned longest_run_s = 60;  // of real time, for one seed; an unharmed one takes a fraction of one

/// A child writes its messages into a pipe, line by line. A dying child's standard error goes into the same
/// pipe.
constexpr std::string_view seed_mark = "seed ";
constexpr std::string_view property_mark = "property ";

void say(std::string_view mark, std::string_view what) {
  const std::string line = fmt::format("{}{}\n", mark, what);
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(2);
}

void look_for(const plan_options& one) {
  alarm(longest_run_s);
  say(seed_mark, std::to_string(one.seed));
  const run_report r = run(draw_plan(one));
  if (r.found.empty()) return;
  say(property_mark, r.found.front().property);
  _exit(1);
}

/// Chooses the workload that can show a bug: participants of the gossip, shipped calls, or else broadcasts.
workload workload_of(const mutants::description& m, workload otherwise) {
  if (m.name.starts_with("gossip_")) return workload::gossip;
  return m.name.starts_with("ship_") || m.name.starts_with("bulk_") ? workload::ship : otherwise;
}

/// Looks for one bug. With no bug, every seed must pass.
[[noreturn]] void look_for(const mutants::description& m, const mutant_options& options) {
  mutants::active = m.which;
  for (std::uint64_t seed = 1; seed <= options.seeds; ++seed) {
    plan_options one = options.plan;
    one.seed = seed;
    one.work = workload_of(m, options.plan.work);
    look_for(one);
    if (m.which != mutants::id::none) continue;
    for (const workload other : {workload::ship, workload::gossip}) {
      one.work = other;
      look_for(one);
    }
  }
  _exit(0);
}

/// Extracts the part of "scoll: broken invariant: <what> [<expression>], file:line" that fits into a table.
std::string_view invariant_in(std::string_view said) {
  constexpr std::string_view mark = "invariant: ";
  const std::size_t at = said.find(mark);
  if (at != std::string_view::npos) said.remove_prefix(at + mark.size());
  return said.substr(0, said.find(" ["));
}

/// The search for one mutant.
class hunt {
 public:
  hunt(const mutants::description& m, const mutant_options& options) : begun_(steady::now()) {
    report_.name = m.name;
    report_.what = m.what;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe could be made");
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("no process could be started");
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      look_for(m, options);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  hunt(const hunt&) = delete;
  hunt& operator=(const hunt&) = delete;
  ~hunt() {
    if (pipe_ < 0) return;
    kill(pid_, SIGKILL);
    end();
  }

  int pipe() const noexcept { return pipe_; }
  const mutant_report& report() const noexcept { return report_; }

  /// Returns false when the search is over.
  bool listen() {
    char bytes[4096];
    const ssize_t n = read(pipe_, bytes, sizeof bytes);
    if (n <= 0) {
      conclude(end());
      return false;
    }
    unread_.append(bytes, static_cast<std::size_t>(n));
    for (std::size_t newline = 0; (newline = unread_.find('\n')) != std::string::npos;) {
      hear(unread_.substr(0, newline));
      unread_.erase(0, newline + 1);
    }
    return true;
  }

 private:
  void hear(const std::string& line) {
    if (line.starts_with(seed_mark)) {
      seed_ = std::stoull(line.substr(seed_mark.size()));
    } else if (line.starts_with(property_mark)) {
      report_.property = line.substr(property_mark.size());
    } else if (!line.empty()) {
      last_words_ = line;
    }
  }

  int end() {
    close(std::exchange(pipe_, -1));
    int how = 0;
    waitpid(pid_, &how, 0);
    return how;
  }

  void conclude(int how) {
    report_.seconds = std::chrono::duration<double>(steady::now() - begun_).count();
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return;
    report_.seed = seed_;
    if (WIFSIGNALED(how)) report_.property = died_of(WTERMSIG(how));
    if (report_.property.empty()) report_.property = fmt::format("exit status {}", WEXITSTATUS(how));
  }

  std::string died_of(int signal) const {
    if (signal == SIGALRM) return "every run ends";
    if (signal == SIGABRT) return fmt::format("assertion: {}", invariant_in(last_words_));
    return fmt::format("signal {}", signal);
  }

  mutant_report report_;
  steady::time_point begun_;
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::uint64_t seed_ = 0;
  std::string unread_;
  std::string last_words_;
};

std::vector<mutants::description> chosen(const std::string& only) {
  std::vector<mutants::description> which{{mutants::id::none, "(none)", "the library as it is"}};
  for (const mutants::description& m : mutants::all) {
    if (only.empty() || m.name == only) which.push_back(m);
  }
  if (which.size() == 1) throw std::runtime_error("there is no mutant " + only);
  return which;
}

}  // namespace

bool has_mutants() noexcept {
#ifdef SCOLL_MUTANTS
  return true;
#else
  return false;
#endif
}

void switch_on(std::string_view name) {
  const auto found = std::find_if(std::begin(mutants::all), std::end(mutants::all),
                                  [&](const auto& m) { return m.name == name; });
  if (!has_mutants() || found == std::end(mutants::all))
    throw std::runtime_error(fmt::format("this build has no mutant {}", name));
  mutants::active = found->which;
}

std::vector<mutant_report> run_mutants(const mutant_options& options) {
  const std::vector<mutants::description> which = chosen(options.only);
  std::vector<std::unique_ptr<hunt>> running;
  std::vector<mutant_report> reports;
  for (std::size_t next = 0; next < which.size() || !running.empty();) {
    while (next < which.size() && running.size() < options.jobs)
      running.push_back(std::make_unique<hunt>(which[next++], options));
    std::vector<pollfd> waiting;
    waiting.reserve(running.size());
    for (const auto& h : running) waiting.push_back({h->pipe(), POLLIN, 0});
    poll(waiting.data(), waiting.size(), -1);
    for (std::size_t i = waiting.size(); i-- != 0;) {
      if (waiting[i].revents == 0 || running[i]->listen()) continue;
      reports.push_back(running[i]->report());
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
    }
    if (options.progress) std::fprintf(stderr, "\r%zu of %zu mutants ", reports.size(), which.size());
  }
  if (options.progress) std::fprintf(stderr, "\n");
  const auto place = [&](const mutant_report& r) {
    return std::find_if(which.begin(), which.end(), [&](const auto& m) { return m.name == r.name; });
  };
  std::sort(reports.begin(), reports.end(),
            [&](const mutant_report& a, const mutant_report& b) { return place(a) < place(b); });
  return reports;
}

bool all_found(const std::vector<mutant_report>& reports) {
  return std::all_of(reports.begin(), reports.end(),
                     [&](const mutant_report& r) { return (r.seed != 0) == (&r != &reports.front()); });
}

std::string to_table(const std::vector<mutant_report>& reports) {
  std::string text = fmt::format("{:<24} {:>5} {:>6}  {}\n", "mutant", "seed", "s", "property");
  for (const mutant_report& r : reports) {
    const std::string seed = r.seed == 0 ? "-" : std::to_string(r.seed);
    const bool unharmed = &r == &reports.front();
    const std::string_view result = r.seed != 0 ? std::string_view(r.property)
                                    : unharmed  ? "all hold"
                                                : "SURVIVED";
    text += fmt::format("{:<24} {:>5} {:>6.1f}  {}\n", r.name, seed, r.seconds, result);
  }
  return text;
}

std::string to_json(const std::vector<mutant_report>& reports) {
  std::string text = "[";
  for (const mutant_report& r : reports) {
    std::string property;
    for (const char c : r.property) {
      if (c == '"' || c == '\\') property += '\\';
      property += c;
    }
    text += fmt::format("{}\n{{\"mutant\":\"{}\",\"seed\":{},\"seconds\":{:.3f},\"property\":\"{}\"}}",
                        text.size() == 1 ? "" : ",", r.name, r.seed == 0 ? "null" : std::to_string(r.seed),
                        r.seconds, property);
  }
  return text + "\n]\n";
}

}  // namespace scoll::sim
