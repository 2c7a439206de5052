#include "tools/scoll-sim/exhaust/make_parts.hpp"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <thread>

#include "scoll/coro/error_format.hpp"

namespace scoll::sim {

std::vector<exhausted> make_parts(std::string_view subject, std::size_t count,
                                  const exhaust_settings& settings,
                                  const std::function<exhausted(std::size_t)>& make) {
  std::vector<exhausted> parts(count);
  std::atomic<std::size_t> begun = 0;
  std::mutex showing;
  std::size_t ended = 0;
  std::uint64_t cases = 0;
  const auto work = [&] {
    for (std::size_t i = begun++; i < count; i = begun++) {
      const std::size_t at = count - 1 - i;
      parts[at] = make(at);
      const std::lock_guard lock(showing);
      cases += parts[at].cases;
      ++ended;
      if (settings.progress)
        std::fputs(fmt::format("\r{}: {} of {} parts, {} cases ", subject, ended, count, cases).c_str(),
                   stderr);
    }
  };
  std::vector<std::thread> workers;
  for (std::uint32_t i = 1; i < settings.jobs; ++i) workers.emplace_back(work);
  work();
  for (std::thread& each : workers) each.join();
  if (settings.progress) std::fprintf(stderr, "\r%60s\r", "");
  return parts;
}

}  // namespace scoll::sim
