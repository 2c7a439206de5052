#include "tools/scoll-sim/study/gossip_study.hpp"

#include <ctime>

#include "tools/scoll-sim/study/gossip_study_cluster.hpp"
#include "tools/scoll-sim/study/gossip_study_deaths.hpp"
#include "tools/scoll-sim/study/gossip_study_measure.hpp"

namespace scoll::sim {
namespace {

double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

}  // namespace

study_result run_study(const study_case& what) {
  study_cluster cluster(what);
  const double begun = thread_seconds();
  study_result result;
  result.threshold = cluster.threshold();
  cluster.run_until(std::int64_t{40 + 2 * cluster.threshold()} * study_interval);
  study_measure(cluster).run(result);
  study_deaths(cluster).run(result);
  result.seconds = thread_seconds() - begun;
  return result;
}

}  // namespace scoll::sim
