#include <algorithm>
#include <cmath>

#include "scoll/coro/random.hpp"
#include "tools/scoll-sim/study/gossip_study.hpp"

namespace scoll::sim {
namespace {

using histogram = std::array<std::uint64_t, 256>;

constexpr int resamples = 1000;
// The fit leaves out the body of the distribution and uses only ages that were seen often enough.
constexpr double tail_share = 1e-4;
constexpr std::uint64_t least_seen = 200;
constexpr double steepest = 100;  // no tail is assumed to fall faster, because its last ages were hardly seen

std::uint64_t above(const histogram& h, std::size_t age) {
  std::uint64_t n = 0;
  for (std::size_t a = age + 1; a < h.size(); ++a) n += h[a];
  return n;
}

std::uint64_t total(const histogram& h) {
  std::uint64_t n = 0;
  for (const std::uint64_t c : h) n += c;
  return n;
}

/// Returns the first age with less than the tail's share above it, or an earlier one if too little is left to
/// fit.
std::size_t beginning(const histogram& h) {
  const double all = static_cast<double>(total(h));
  std::size_t age = 0;
  while (age < 250 && static_cast<double>(above(h, age)) > all * tail_share) ++age;
  while (age > 1 && above(h, age) < least_seen) --age;
  return age;
}

struct fitted_line {
  double share = 0;  // of ages above the beginning
  double decay = steepest;
};

/// Fits a geometric distribution to the ages above the beginning. Its mean gives the factor by which each
/// further cycle divides them.
fitted_line fit(const histogram& h, std::size_t begins) {
  std::uint64_t beyond = 0, excess = 0;
  for (std::size_t a = begins + 1; a < h.size(); ++a) {
    beyond += h[a];
    excess += h[a] * (a - begins - 1);
  }
  fitted_line l;
  l.share = static_cast<double>(beyond) / static_cast<double>(std::max<std::uint64_t>(total(h), 1));
  if (excess != 0)
    l.decay = std::min(steepest, 1 + static_cast<double>(beyond) / static_cast<double>(excess));
  return l;
}

double at(const fitted_line& l, std::size_t begins, std::uint32_t threshold, double chances) {
  const double cycles = static_cast<double>(threshold) - static_cast<double>(begins);
  return chances * l.share * std::pow(l.decay, -cycles);
}

}  // namespace

tail_fit fit_tail(const std::vector<histogram>& blocks, std::uint32_t threshold, double chances) {
  histogram all{};
  for (const histogram& b : blocks) {
    for (std::size_t a = 0; a < all.size(); ++a) all[a] += b[a];
  }
  const std::size_t begins = beginning(all);
  const fitted_line whole = fit(all, begins);
  tail_fit result;
  result.begins_at = static_cast<std::uint32_t>(begins);
  result.decay = whole.decay;
  result.per_year = at(whole, begins, threshold, chances);
  random_generator random(1);
  std::vector<double> drawn;
  for (int i = 0; i < resamples; ++i) {
    histogram sample{};
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const histogram& one = blocks[random.below(blocks.size())];
      for (std::size_t a = 0; a < sample.size(); ++a) sample[a] += one[a];
    }
    drawn.push_back(at(fit(sample, begins), begins, threshold, chances));
  }
  std::sort(drawn.begin(), drawn.end());
  result.low = drawn[resamples * 25 / 1000];
  result.high = drawn[resamples * 975 / 1000];
  return result;
}

}  // namespace scoll::sim
