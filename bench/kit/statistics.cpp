#include "statistics.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "scoll/coro/random.hpp"

namespace bench {
namespace {

constexpr std::size_t resamples = 2000;
constexpr std::uint64_t seed = 20;

double ratio(std::vector<double>& a, std::vector<double>& b) {
  const auto middle = [](std::vector<double>& v) {
    const auto at = v.begin() + static_cast<std::ptrdiff_t>((v.size() - 1) / 2);
    std::nth_element(v.begin(), at, v.end());
    return *at;
  };
  const double below = middle(b);
  return below == 0 ? 0 : middle(a) / below;
}

}  // namespace

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  const double rank = std::ceil(q * static_cast<double>(values.size()));
  const auto index = static_cast<std::ptrdiff_t>(std::max(rank, 1.0)) - 1;
  std::nth_element(values.begin(), values.begin() + index, values.end());
  return values[static_cast<std::size_t>(index)];
}

interval ratio_of_medians(std::span<const double> a, std::span<const double> b) {
  if (a.size() != b.size()) throw std::logic_error("pairs need equally many rounds on both sides");
  if (a.empty()) return {};
  std::vector<double> drawn_a(a.begin(), a.end());
  std::vector<double> drawn_b(b.begin(), b.end());
  const double value = ratio(drawn_a, drawn_b);
  scoll::random_generator random(seed);
  std::vector<double> ratios;
  ratios.reserve(resamples);
  for (std::size_t i = 0; i < resamples; ++i) {
    for (std::size_t k = 0; k < a.size(); ++k) {
      const auto round = static_cast<std::size_t>(random.below(a.size()));
      drawn_a[k] = a[round];
      drawn_b[k] = b[round];
    }
    ratios.push_back(ratio(drawn_a, drawn_b));
  }
  return {value, quantile(ratios, 0.025), quantile(ratios, 0.975)};
}

}  // namespace bench
