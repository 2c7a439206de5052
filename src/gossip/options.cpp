#include "gossip/options.hpp"

#include "gossip/threshold.hpp"
#include "scoll/coro/error_format.hpp"

namespace scoll::gossip {
namespace {

constexpr std::uint32_t most_retries = 8;
constexpr std::uint32_t most_fudge = 64;
constexpr double most_loss = 0.5;
constexpr nanoseconds least_pause = std::chrono::seconds(1);
constexpr nanoseconds longest_pause = std::chrono::minutes(1);

/// The rule of the original protocol may go below the least threshold by itself, but a given number that does
/// is refused.
status check_threshold(const options& o, nanoseconds interval) {
  if (o.forgiven_pause < least_pause || o.forgiven_pause > longest_pause)
    return error(errc::invalid_argument, "gossip: forgiven_pause is not 1 s to 1 min");
  const std::uint32_t least = least_threshold(interval, o.forgiven_pause);
  if (o.threshold_cycles == 0 || (o.threshold_cycles >= least && o.threshold_cycles <= highest_threshold))
    return {};
  return make_error(errc::invalid_argument,
                    "gossip: threshold_cycles {} is not {} to {}: it must forgive a pause of {} ms",
                    o.threshold_cycles, least, highest_threshold, o.forgiven_pause.count() / 1'000'000);
}

}  // namespace

status check(const options& o, const configuration& shared) {
  const auto refuse = [](std::string_view what) {
    return make_error(errc::invalid_argument, "gossip: {}", what);
  };
  if (o.incarnation == 0) return refuse("the incarnation must be set");
  if (o.rtt <= nanoseconds(0)) return refuse("the round trip time is not positive");
  if (shared.interval() < o.rtt / 2)
    return make_error(errc::invalid_argument,
                      "gossip: an interval of {} ms is less than half the round trip time, {} ms",
                      shared.interval().count() / 1'000'000, o.rtt.count() / 1'000'000);
  if (!(o.expected_loss >= 0 && o.expected_loss <= most_loss)) return refuse("expected_loss is not 0 to 0.5");
  if (!(o.false_verdicts_per_year > 0)) return refuse("false_verdicts_per_year is not positive");
  if (status s = check_threshold(o, shared.interval()); !s) return s;
  if (o.retries > most_retries) return refuse("retries is not 0 to 8");
  if (o.fudge_cycles > most_fudge) return refuse("fudge_cycles is not 0 to 64");
  return {};
}

}  // namespace scoll::gossip
