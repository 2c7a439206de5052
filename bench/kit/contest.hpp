#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "statistics.hpp"
#include "usage.hpp"

namespace bench {

/// A subject that repeats one operation and is measured beside other subjects that do the same.
class contestant {
 public:
  virtual ~contestant() = default;
  /// Does `operations` and appends how long each took. One timed span may cover several operations if one
  /// alone is too short to be timed; the value is then their mean.
  virtual void run(std::uint32_t operations, std::vector<double>& latency_us) = 0;
  /// Returns the resource usage of each of its processes since the start.
  virtual std::vector<usage> used() const = 0;
};

struct subject {
  std::string name;
  std::unique_ptr<contestant> does;
};

struct contest_options {
  std::uint32_t rounds = 30;
  std::uint32_t operations = 200;  ///< per subject and round
  std::uint32_t warm_up = 20;      ///< before each round, not counted
  std::function<void(const std::string&)> progress;
};

/// The results of one subject, over all rounds.
struct score {
  std::string subject;
  std::vector<double> latency_us;    ///< of every operation
  std::vector<double> p50_of_round;  ///< us
  std::vector<double> p99_of_round;  ///< us
  std::vector<double> cpu_of_round;  ///< us per operation, all processes
  std::vector<double> instructions_of_round;
  std::vector<usage> per_process;  ///< per operation
  usage total;                     ///< per operation, all processes

  double p50() const { return quantile(latency_us, 0.50); }
  double p99() const { return quantile(latency_us, 0.99); }
  double max() const { return quantile(latency_us, 1.00); }
};

/// Runs every subject once per round, each time beginning with another one, so that a disturbance of the
/// machine that lasts longer than a round affects all of them.
std::vector<score> hold(std::span<subject> subjects, const contest_options& options);

}  // namespace bench
