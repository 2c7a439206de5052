#include "usage.hpp"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <system_error>
#include <utility>

namespace bench {
namespace {

int count_instructions(pid_t process) noexcept {
  perf_event_attr what{};
  what.size = sizeof what;
  what.type = PERF_TYPE_HARDWARE;
  what.config = PERF_COUNT_HW_INSTRUCTIONS;
  what.exclude_hv = 1;
  what.inherit = 1;
  return static_cast<int>(syscall(SYS_perf_event_open, &what, process, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

/// The number behind `key` in the status of a process; 0 if there is none.
double status_of(pid_t process, std::string_view key) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stod(line.substr(key.size()));
  }
  return 0;
}

}  // namespace

double peak_own_kib(pid_t process) {
  return status_of(process, "VmHWM:") - status_of(process, "RssFile:") - status_of(process, "RssShmem:");
}

usage& usage::operator+=(const usage& other) noexcept {
  cpu_us += other.cpu_us;
  wakeups += other.wakeups;
  if (other.instructions) instructions = instructions.value_or(0) + *other.instructions;
  syscalls += other.syscalls;
  allocations += other.allocations;
  messages += other.messages;
  background_bytes += other.background_bytes;
  return *this;
}

usage operator-(const usage& after, const usage& before) noexcept {
  usage d;
  d.cpu_us = after.cpu_us - before.cpu_us;
  d.wakeups = after.wakeups - before.wakeups;
  if (after.instructions && before.instructions) d.instructions = *after.instructions - *before.instructions;
  d.syscalls = after.syscalls - before.syscalls;
  d.allocations = after.allocations - before.allocations;
  d.messages = after.messages - before.messages;
  d.background_bytes = after.background_bytes - before.background_bytes;
  return d;
}

usage usage::per(double operations) const noexcept {
  usage each = *this;
  each.cpu_us /= operations;
  each.wakeups /= operations;
  if (each.instructions) each.instructions = *each.instructions / operations;
  each.syscalls /= operations;
  each.allocations /= operations;
  each.messages /= operations;
  each.background_bytes /= operations;
  return each;
}

process_meter::process_meter(pid_t process)
    : process_(process), instructions_fd_(count_instructions(process)) {
  if (const int failed = clock_getcpuclockid(process, &cpu_clock_); failed != 0)
    throw std::system_error(failed, std::generic_category(), "the CPU clock of a process");
}

process_meter::~process_meter() {
  if (instructions_fd_ >= 0) close(instructions_fd_);
}

process_meter::process_meter(process_meter&& other) noexcept
    : process_(other.process_),
      cpu_clock_(other.cpu_clock_),
      instructions_fd_(std::exchange(other.instructions_fd_, -1)) {}

usage process_meter::read() const {
  usage now;
  timespec t{};
  if (clock_gettime(cpu_clock_, &t) != 0)
    throw std::system_error(errno, std::generic_category(), "reading the CPU clock of a process");
  now.cpu_us = static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
  now.wakeups = status_of(process_, "voluntary_ctxt_switches:");
  std::uint64_t count = 0;
  if (instructions_fd_ >= 0 && ::read(instructions_fd_, &count, sizeof count) == sizeof count)
    now.instructions = static_cast<double>(count);
  return now;
}

std::string why_no_instructions() {
  const int fd = count_instructions(0);
  if (fd < 0) return std::string("perf_event_open: ") + std::strerror(errno);
  close(fd);
  return {};
}

}  // namespace bench
