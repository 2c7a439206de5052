#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// The value below which `q` of all lie (nearest rank); 0 of nothing.
double quantile(std::vector<double> values, double q);
inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

/// An estimate and where 95 % of the resampled ones lie.
struct interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The ratio of the medians of two subjects that were measured in the same rounds, `a` over `b`: rounds are
/// drawn with replacement, the same ones for both, so that what disturbed a round disturbs both. The draws
/// are always the same: equal inputs give equal intervals.
interval ratio_of_medians(std::span<const double> a, std::span<const double> b);

}  // namespace bench
