#include "../../include/gossip/options.hpp"

#include "../../include/coro/error_format.hpp"
#include "../../include/gossip/liveness/threshold.hpp"

namespace scoll::gossip {
namespace {

constexpr std::uint32_t least_fixed_threshold = 4;
constexpr std::uint32_t most_retries = 8;
constexpr std::uint32_t most_fudge = 64;
constexpr double most_loss = 0.5;
constexpr nanoseconds longest_pause = std::chrono::minutes(1);

}  // namespace

status check(const options& o, const configuration& shared) {
  const auto refuse = [](std::string_view what) {
    return make_error(errc::invalid_argument, "gossip: {}", what);
  };
  if (o.incarnation == 0) return refuse("the incarnation is not set");
  if (o.rtt <= nanoseconds(0)) return refuse("the round trip time is not positive");
  if (shared.interval() < o.rtt / 2)
    return make_error(errc::invalid_argument,
                      "gossip: an interval of {} ms is less than half the round trip time, {} ms",
                      shared.interval().count() / 1'000'000, o.rtt.count() / 1'000'000);
  if (!(o.expected_loss >= 0 && o.expected_loss <= most_loss)) return refuse("expected_loss is not 0 to 0.5");
  if (!(o.false_verdicts_per_year > 0)) return refuse("false_verdicts_per_year is not positive");
  if (o.threshold_cycles != 0 &&
      (o.threshold_cycles < least_fixed_threshold || o.threshold_cycles > highest_threshold))
    return refuse("threshold_cycles is not 4 to 200");
  if (o.forgiven_pause < nanoseconds(0) || o.forgiven_pause > longest_pause)
    return refuse("forgiven_pause is not 0 to 1 min");
  if (o.retries > most_retries) return refuse("retries is not 0 to 8");
  if (o.fudge_cycles > most_fudge) return refuse("fudge_cycles is not 0 to 64");
  return {};
}

}  // namespace scoll::gossip
