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

/// Something that does an operation over and over, to be measured beside others that do the same.
class contestant {
 public:
  virtual ~contestant() = default;
  /// Does `operations` and appends what each took. The span may cover several operations each, when one alone
  /// is too short to be timed; the value is then the mean of them.
  virtual void run(std::uint32_t operations, std::vector<double>& latency_us) = 0;
  /// Of each of its processes, since the start.
  virtual std::vector<usage> used() const = 0;
};

struct subject {
  std::string name;
  std::unique_ptr<contestant> does;
};

struct contest_options {
  std::uint32_t rounds = 30;
  std::uint32_t operations = 200;  ///< per subject and round
  std::uint32_t warm_up = 20;      ///< before each, not counted
  std::function<void(const std::string&)> progress;
};

/// What one subject did, over all rounds.
struct score {
  std::string subject;
  std::vector<double> latency_us;    ///< every one
  std::vector<double> p50_of_round;  ///< us
  std::vector<double> cpu_of_round;  ///< us per operation, all processes
  std::vector<double> instructions_of_round;
  std::vector<usage> per_process;  ///< per operation
  usage total;                     ///< per operation, all processes

  double p50() const { return quantile(latency_us, 0.50); }
  double p99() const { return quantile(latency_us, 0.99); }
  double max() const { return quantile(latency_us, 1.00); }
};

/// Every round has each subject once, beginning with another one each time: what disturbs the machine for
/// longer than a round disturbs all of them.
std::vector<score> hold(std::span<subject> subjects, const contest_options& options);

}  // namespace bench
