#include "tools/scoll-sim/batch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/run_limit.hpp"

namespace scoll::sim {
namespace {

constexpr std::time_t longest_run_s = 300;  // of the processor; a longer run counts as endless

/// The message of a worker about one seed, sent in one write.
struct line {
  std::uint64_t seed = 0;
  bool finished = false;  // false: it has only begun
  bool failed = false;
  std::uint64_t hash = 0;
  std::uint64_t events = 0, bytes = 0, broadcasts = 0, clean = 0, faults = 0, groups = 0, lives = 0;
  std::array<std::uint64_t, 5> members{};
  coverage seen;
};
static_assert(sizeof(line) <= PIPE_BUF, "a write to a pipe of up to PIPE_BUF bytes is one piece");

line line_of(std::uint64_t seed, const run_report& r) {
  return {seed,    true,     !r.found.empty(), r.trace_hash, r.events,  r.bytes, r.broadcasts,
          r.clean, r.faults, r.groups,         r.lives,      r.members, r.seen};
}
run_report report_of(const line& l) {
  run_report r;
  r.events = l.events;
  r.bytes = l.bytes;
  r.broadcasts = l.broadcasts;
  r.clean = l.clean;
  r.faults = l.faults;
  r.groups = l.groups;
  r.lives = l.lives;
  r.members = l.members;
  r.seen = l.seen;
  return r;
}

struct worker {
  pid_t pid = -1;
  int pipe = -1;
  std::uint64_t current = 0;  // the seed that is running; 0: none
  std::string unread;
};

[[noreturn]] void work(const batch_options& options, std::uint64_t first, int out) {
  for (std::uint64_t seed = first; seed <= options.last; seed += options.jobs) {
    limit_run(longest_run_s);
    line begun;
    begun.seed = seed;
    if (write(out, &begun, sizeof begun) != sizeof begun) _exit(2);
    plan_options one = options.plan;
    one.seed = seed;
    const line done = line_of(seed, run(draw_plan(one)));
    if (write(out, &done, sizeof done) != sizeof done) _exit(2);
    if (done.failed) _exit(1);
  }
  _exit(0);
}

worker start(const batch_options& options, std::uint64_t first) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe could be made");
  std::fflush(nullptr);
  worker w;
  w.pid = fork();
  if (w.pid < 0) throw std::runtime_error("no process could be started");
  if (w.pid == 0) {
    close(ends[0]);
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);  // a failure is run again, with its messages
    work(options, first, ends[1]);
  }
  close(ends[1]);
  w.pipe = ends[0];
  return w;
}

class batch {
 public:
  explicit batch(const batch_options& options) : options_(options) {}

  batch_report go() {
    for (std::uint32_t i = 0; i < options_.jobs && options_.first + i <= options_.last; ++i)
      workers_.push_back(start(options_, options_.first + i));
    while (running() != 0 && !report_.failed) listen();
    stop();
    if (options_.progress) std::fprintf(stderr, "\n");
    std::sort(report_.hashes.begin(), report_.hashes.end());
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    report_.cpu_seconds = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                          static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
    return std::move(report_);
  }

 private:
  std::size_t running() const {
    return static_cast<std::size_t>(
        std::count_if(workers_.begin(), workers_.end(), [](const worker& w) { return w.pipe >= 0; }));
  }

  void listen() {
    std::vector<pollfd> waiting;
    std::vector<worker*> whose;
    for (worker& w : workers_) {
      if (w.pipe < 0) continue;
      waiting.push_back({w.pipe, POLLIN, 0});
      whose.push_back(&w);
    }
    poll(waiting.data(), waiting.size(), 1000);
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].revents != 0) take(*whose[i]);
    }
    show();
  }

  void take(worker& w) {
    char bytes[8192];
    const ssize_t n = read(w.pipe, bytes, sizeof bytes);
    if (n <= 0) {
      close(w.pipe);
      w.pipe = -1;
      if (w.current != 0) fail(w.current);  // it died in the middle of a run
      return;
    }
    w.unread.append(bytes, static_cast<std::size_t>(n));
    while (w.unread.size() >= sizeof(line)) {
      line l;
      std::copy_n(w.unread.data(), sizeof l, reinterpret_cast<char*>(&l));
      w.unread.erase(0, sizeof l);
      take(w, l);
    }
  }

  void take(worker& w, const line& l) {
    w.current = l.finished ? 0 : l.seed;
    if (!l.finished) return;
    ++report_.seeds;
    report_.sum.add(report_of(l));
    if (options_.keep_hashes) report_.hashes.emplace_back(l.seed, l.hash);
    if (l.failed) fail(l.seed);
  }

  void fail(std::uint64_t seed) {
    if (report_.failed && report_.failed_seed < seed) return;
    report_.failed = true;
    report_.failed_seed = seed;
  }

  void show() {
    const auto now = std::chrono::steady_clock::now();
    if (!options_.progress || now < shown_ + std::chrono::seconds(1)) return;
    shown_ = now;
    std::fprintf(stderr, "\r%llu of %llu seeds, %llu broadcasts, %llu faults ",
                 static_cast<unsigned long long>(report_.seeds),
                 static_cast<unsigned long long>(options_.last - options_.first) + 1,
                 static_cast<unsigned long long>(report_.sum.broadcasts),
                 static_cast<unsigned long long>(report_.sum.faults));
  }

  void stop() {
    for (worker& w : workers_) {
      if (w.pipe >= 0) kill(w.pid, SIGKILL);
      if (w.pipe >= 0) close(w.pipe);
      int how = 0;
      waitpid(w.pid, &how, 0);
    }
  }

  batch_options options_;
  batch_report report_;
  std::vector<worker> workers_;
  std::chrono::steady_clock::time_point shown_{};
};

}  // namespace

batch_report run_batch(const batch_options& options) {
  return batch(options).go();
}

std::string failure_of(const plan& p) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe could be made");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process could be started");
  if (pid == 0) {
    limit_run(longest_run_s);
    const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nothing >= 0) dup2(nothing, STDERR_FILENO);
    const run_report r = run(p);
    const std::string found = r.found.empty() ? std::string() : r.found.front().property;
    if (write(ends[1], found.data(), found.size()) != static_cast<ssize_t>(found.size())) _exit(2);
    _exit(0);
  }
  close(ends[1]);
  std::string property;
  char bytes[256];
  for (ssize_t n = 0; (n = read(ends[0], bytes, sizeof bytes)) > 0;)
    property.append(bytes, static_cast<std::size_t>(n));
  close(ends[0]);
  int how = 0;
  waitpid(pid, &how, 0);
  if (WIFSIGNALED(how))
    return WTERMSIG(how) == run_limit_signal ? "does not end"
                                             : fmt::format("died of signal {}", WTERMSIG(how));
  return WEXITSTATUS(how) == 0 ? property : fmt::format("exit status {}", WEXITSTATUS(how));
}

plan minimised(plan p, const std::string& property) {
  for (std::size_t piece = std::max<std::size_t>(1, p.events.size() / 2); piece != 0;) {
    bool shorter = false;
    for (std::size_t at = 0; at < p.events.size();) {
      plan without = p;
      const std::size_t end = std::min(at + piece, without.events.size());
      std::erase_if(without.events, [&, i = std::size_t{0}](const plan_event& e) mutable {
        const std::size_t index = i++;
        return index >= at && index < end && !std::holds_alternative<events::wires>(e.what);
      });
      if (without.events.size() == p.events.size() || failure_of(without) != property) {
        at = end;
        continue;
      }
      p = std::move(without);
      shorter = true;
      std::fprintf(stderr, "\r%zu events ", p.events.size());
    }
    if (piece == 1 && !shorter) break;
    piece = std::max<std::size_t>(1, piece / 2);
  }
  std::fprintf(stderr, "\n");
  return p;
}

}  // namespace scoll::sim
