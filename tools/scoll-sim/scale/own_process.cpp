#include "tools/scoll-sim/scale/own_process.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

#include "scoll/coro/error_format.hpp"

namespace scoll::sim {
namespace {

bool read_all(int from, std::span<std::byte> into) {
  while (!into.empty()) {
    const ssize_t n = read(from, into.data(), into.size());
    if (n <= 0) return false;
    into = into.subspan(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

void in_own_process(std::span<std::byte> report, const std::function<void()>& fill, const std::string& what) {
  int ends[2];
  if (pipe(ends) != 0) throw std::runtime_error("no pipe could be made");
  std::fflush(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no process could be started");
  if (pid == 0) {
    close(ends[0]);
    fill();
    _exit(write(ends[1], report.data(), report.size()) == static_cast<ssize_t>(report.size()) ? 0 : 2);
  }
  close(ends[1]);
  const bool whole = read_all(ends[0], report);
  close(ends[0]);
  int how = 0;
  waitpid(pid, &how, 0);
  if (whole) return;
  throw std::runtime_error(
      fmt::format("the run of {} died{}", what,
                  WIFSIGNALED(how) ? fmt::format(" by signal {}", WTERMSIG(how)) : std::string()));
}

process_use use_of_this_process() {
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  return {static_cast<std::size_t>(used.ru_maxrss),
          static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
              static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6};
}

}  // namespace scoll::sim
