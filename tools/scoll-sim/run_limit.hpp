#pragma once

#include <sys/time.h>

#include <csignal>
#include <ctime>

namespace scoll::sim {

/// The signal that ends a process whose run takes too long.
inline constexpr int run_limit_signal = SIGPROF;

/// Ends this process when it has used so much time of the processor from now on. All waiting is in virtual time, so
/// a run that does not end computes for ever, and a busy machine does not make a run endless.
inline void limit_run(std::time_t seconds) noexcept {
  itimerval limit{};
  limit.it_value.tv_sec = seconds;
  setitimer(ITIMER_PROF, &limit, nullptr);
}

}  // namespace scoll::sim
