#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bench {

/// Returns the value below which a share `q` of all values lies (nearest rank); 0 if there are none.
double quantile(std::vector<double> values, double q);
inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

/// An estimate, and the range that contains 95 % of the resampled ones.
struct interval {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Returns the ratio of the medians of two subjects that were measured in the same rounds, `a` over `b`.
/// Rounds are drawn with replacement, the same ones for both, so that a disturbance in a round affects both.
/// The draws are always the same: equal inputs give equal intervals.
interval ratio_of_medians(std::span<const double> a, std::span<const double> b);

}  // namespace bench
