#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace bench {

/// The resources that a process has used since its start. Counters that the process itself keeps are 0 if it
/// keeps none.
struct usage {
  double cpu_us = 0;                   ///< user and system, of all its threads
  double wakeups = 0;                  ///< voluntary context switches of its first thread
  std::optional<double> instructions;  ///< user and kernel; nothing if the processor's counters are hidden
  double syscalls = 0;
  double allocations = 0;
  double messages = 0;
  double background_bytes = 0;

  usage& operator+=(const usage& other) noexcept;
  friend usage operator-(const usage& after, const usage& before) noexcept;
  usage per(double operations) const noexcept;
};

/// Reads the clocks of another process, or of this one. Throws if it is gone.
class process_meter {
 public:
  explicit process_meter(pid_t process);
  ~process_meter();
  process_meter(process_meter&& other) noexcept;
  process_meter& operator=(process_meter&&) = delete;

  usage read() const;

 private:
  pid_t process_;
  clockid_t cpu_clock_{};
  int instructions_fd_ = -1;
};

/// Returns the most memory that a process has had in RAM at once, in KiB, without files that it has mapped, such
/// as the program, and without memory that it shares.
double peak_own_kib(pid_t process);

/// Returns an empty text if instructions are counted, otherwise the reason why not, for the heading of a
/// table.
std::string why_no_instructions();

}  // namespace bench
