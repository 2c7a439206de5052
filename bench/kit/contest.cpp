#include "contest.hpp"

#include <fmt/format.h>

namespace bench {
namespace {

void play(contestant& does, const contest_options& options, score& into, std::vector<usage>& sum) {
  std::vector<double> ignored;
  does.run(options.warm_up, ignored);
  const std::vector<usage> before = does.used();
  std::vector<double> latency_us;
  does.run(options.operations, latency_us);
  const std::vector<usage> after = does.used();

  usage all;
  sum.resize(before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const usage used = after[i] - before[i];
    sum[i] += used;
    all += used;
  }
  const usage each = all.per(options.operations);
  into.p50_of_round.push_back(median(latency_us));
  into.p99_of_round.push_back(quantile(latency_us, 0.99));
  into.cpu_of_round.push_back(each.cpu_us);
  if (each.instructions) into.instructions_of_round.push_back(*each.instructions);
  into.latency_us.insert(into.latency_us.end(), latency_us.begin(), latency_us.end());
}

}  // namespace

std::vector<score> hold(std::span<subject> subjects, const contest_options& options) {
  std::vector<score> scores(subjects.size());
  std::vector<std::vector<usage>> sums(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i) scores[i].subject = subjects[i].name;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    if (options.progress) options.progress(fmt::format("round {} of {}", round + 1, options.rounds));
    for (std::size_t k = 0; k < subjects.size(); ++k) {
      const std::size_t i = (round + k) % subjects.size();
      play(*subjects[i].does, options, scores[i], sums[i]);
    }
  }
  const double operations = static_cast<double>(options.rounds) * options.operations;
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    for (const usage& u : sums[i]) {
      scores[i].per_process.push_back(u.per(operations));
      scores[i].total += scores[i].per_process.back();
    }
  }
  return scores;
}

}  // namespace bench
