#include "tools/scoll-sim/mutants/mutant_trials.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutant_sites.hpp"
#include "tools/scoll-sim/run.hpp"
#include "tools/scoll-sim/run_limit.hpp"

namespace scoll::sim {
namespace {

using steady = std::chrono::steady_clock;

constexpr std::time_t longest_trial_s = 60;  // of the processor; an unharmed run takes a fraction of a second

/// A child writes its messages into a pipe, line by line. A dying child's standard error goes into the same
/// pipe.
constexpr std::string_view run_mark = "run ";
constexpr std::string_view property_mark = "property ";

void say(std::string_view mark, std::string_view what) {
  const std::string line = fmt::format("{}{}\n", mark, what);
  if (write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(2);
}

/// Returns true if every run passes.
bool passes(const mutant_trial& trial) {
  if (!trial.mutant.empty()) switch_on(trial.mutant);
  for (std::size_t i = 0; i < trial.runs.size(); ++i) {
    limit_run(longest_trial_s);
    say(run_mark, std::to_string(i));
    const run_report r = run(draw_plan(trial.runs[i]));
    if (r.found.empty()) continue;
    say(property_mark, r.found.front().property);
    return false;
  }
  return true;
}

[[noreturn]] void be_child(const mutant_trial& trial) {
  try {
    _exit(passes(trial) ? 0 : 1);
  } catch (const std::exception& e) {
    say(property_mark, fmt::format("exception: {}", e.what()));
    _exit(2);
  }
}

/// Extracts the part of "scoll: broken invariant: <what> [<expression>], file:line" that fits into a table.
std::string_view invariant_in(std::string_view said) {
  constexpr std::string_view mark = "invariant: ";
  const std::size_t at = said.find(mark);
  if (at != std::string_view::npos) said.remove_prefix(at + mark.size());
  return said.substr(0, said.find(" ["));
}

/// The process of one trial.
class trial_process {
 public:
  trial_process(const mutant_trial& trial, trial_result& result)
      : trial_(trial), result_(result), begun_(steady::now()) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe could be made");
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("no process could be started");
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(ends[1], STDERR_FILENO);
      be_child(trial);
    }
    close(ends[1]);
    pipe_ = ends[0];
  }
  trial_process(const trial_process&) = delete;
  trial_process& operator=(const trial_process&) = delete;
  ~trial_process() {
    if (pipe_ < 0) return;
    kill(pid_, SIGKILL);
    end();
  }

  int pipe() const noexcept { return pipe_; }

  /// Returns false when the trial is over.
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
    if (line.starts_with(run_mark)) {
      run_ = std::stoull(line.substr(run_mark.size()));
    } else if (line.starts_with(property_mark)) {
      result_.property = line.substr(property_mark.size());
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
    result_.seconds = std::chrono::duration<double>(steady::now() - begun_).count();
    if (WIFEXITED(how) && WEXITSTATUS(how) == 0) return;
    result_.failed = trial_.runs.at(run_);
    if (WIFSIGNALED(how)) result_.property = died_of(WTERMSIG(how));
    if (result_.property.empty()) result_.property = fmt::format("exit status {}", WEXITSTATUS(how));
  }

  std::string died_of(int signal) const {
    if (signal == run_limit_signal) return "every run ends";
    if (signal == SIGABRT) return fmt::format("assertion: {}", invariant_in(last_words_));
    return fmt::format("signal {}", signal);
  }

  const mutant_trial& trial_;
  trial_result& result_;
  steady::time_point begun_;
  pid_t pid_ = -1;
  int pipe_ = -1;
  std::size_t run_ = 0;
  std::string unread_;
  std::string last_words_;
};

using processes = std::vector<std::unique_ptr<trial_process>>;

/// Waits until at least one process has spoken, and removes those that are over.
void wait_for(processes& running) {
  std::vector<pollfd> waiting;
  waiting.reserve(running.size());
  for (const auto& p : running) waiting.push_back({p->pipe(), POLLIN, 0});
  poll(waiting.data(), waiting.size(), -1);
  for (std::size_t i = waiting.size(); i-- != 0;) {
    if (waiting[i].revents == 0 || running[i]->listen()) continue;
    running.erase(running.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

void switch_on(std::string_view name) {
  for (const mutants::mutant& m : mutants::all()) {
    if (m.name != name) continue;
    *m.on = true;
    return;
  }
  throw std::runtime_error(fmt::format("this build has no mutant {}", name));
}

std::vector<trial_result> run_trials(const std::vector<mutant_trial>& trials, std::uint32_t jobs,
                                     bool progress) {
  std::vector<trial_result> results(trials.size());
  processes running;
  for (std::size_t next = 0; next < trials.size() || !running.empty();) {
    while (next < trials.size() && running.size() < jobs) {
      running.push_back(std::make_unique<trial_process>(trials[next], results[next]));
      ++next;
    }
    wait_for(running);
    if (progress) std::fprintf(stderr, "\r%zu of %zu trials ", next - running.size(), trials.size());
  }
  if (progress) std::fprintf(stderr, "\n");
  return results;
}

}  // namespace scoll::sim
