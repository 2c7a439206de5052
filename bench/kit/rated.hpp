#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "group_contestant.hpp"

namespace bench {

/// A group under one kind of order, of which it remembers how many operations have ended per second.
class rated final : public contestant {
 public:
  /// Runs of fewer operations warm up, and are not remembered.
  rated(group_contestant& group, order kind, std::uint32_t operations)
      : group_(group), kind_(kind), operations_(operations) {}

  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    double last_us = 0;
    double sum_us = 0;
    const answer measured = group_.obey(operations, kind_);
    for (std::size_t i = 0; i < measured.latency_ns.size(); ++i) {
      const double us = measured.latency_ns[i] / 1e3;
      latency_us.push_back(us);
      sum_us += us;
      last_us = std::max(last_us, static_cast<double>(i) * kind_.gap_ns / 1e3 + us);
    }
    // Without a rate, as many as may be at once are under way all the time.
    const double took_us = kind_.gap_ns != 0 ? last_us : sum_us / kind_.in_flight;
    if (operations == operations_) per_s_.push_back(1e6 * operations / took_us);
  }
  std::vector<usage> used() const override { return group_.used(); }

  /// One for each round.
  const std::vector<double>& per_s() const noexcept { return per_s_; }

 private:
  group_contestant& group_;
  order kind_;
  std::uint32_t operations_;
  std::vector<double> per_s_;
};

}  // namespace bench
