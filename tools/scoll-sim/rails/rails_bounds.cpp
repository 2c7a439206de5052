#include "tools/scoll-sim/rails/rails_bounds.hpp"

#include <algorithm>
#include <bitset>

namespace scoll::sim {

using std::chrono::milliseconds;
using std::chrono::seconds;

nanoseconds rails_bounds::of_call(const rails_call& c) const noexcept {
  return in_weather(c) + (plan_.transfers ? slow_rails : nanoseconds(0));
}

nanoseconds rails_bounds::in_weather(const rails_call& c) const noexcept {
  switch (plan_.weather) {
    case rails_weather::calm: return milliseconds(50);
    case rails_weather::gentle:
    case rails_weather::altered:
    case rails_weather::lonely:
    case rails_weather::hinted:
      return c.what.klass == transport::traffic_class::bulk ? longest_bulk_in_gentle : longest_in_gentle;
    case rails_weather::devices: return longest_with_devices;
    case rails_weather::pauses: return seconds(9);
    case rails_weather::switched:
    case rails_weather::returned: return longest_at_return;
    case rails_weather::opposite: return plan_.cut_off ? longest_cut_off : silenced() + longest_in_storm;
    default: return longest_in_storm + paused();
  }
}

/// Twice the longest time for which a host stands still.
nanoseconds rails_bounds::paused() const noexcept {
  nanoseconds longest{0};
  for (const rails_fault& f : plan_.faults) {
    if (f.kind == rails_fault_kind::stall) longest = std::max(longest, f.until - f.at);
  }
  return 2 * longest;
}

/// The longest that something is lost.
nanoseconds rails_bounds::silenced() const noexcept {
  nanoseconds longest{0};
  for (const rails_fault& f : plan_.faults) longest = std::max(longest, f.until - f.at);
  return longest;
}

bool rails_bounds::are_parted(std::uint32_t a, std::uint32_t b) const noexcept {
  return plan_.cut_off && (a == *plan_.cut_off || b == *plan_.cut_off);
}

bool rails_bounds::had_no_answer(std::uint32_t a, std::uint32_t b, nanoseconds from,
                                 nanoseconds to) const noexcept {
  if (plan_.rails < 3 || plan_.weather != rails_weather::storm) return false;
  return std::ranges::any_of(plan_.faults, [&](const rails_fault& f) {
    if (f.kind != rails_fault_kind::stall || (f.host != a && f.host != b)) return false;
    return f.until - f.at > grace && f.at + grace <= to && from <= f.until + errors_afterwards &&
           failing_rails(a, b, f) >= 2;
  });
}

std::size_t rails_bounds::failing_rails(std::uint32_t a, std::uint32_t b,
                                        const rails_fault& still) const noexcept {
  std::bitset<transport::max_rails> failing;
  for (const rails_fault& f : plan_.faults) {
    const bool breaks = f.kind != rails_fault_kind::stall && f.kind != rails_fault_kind::slow;
    const bool meanwhile = f.at < still.until && still.at < f.until + longest_distrust;
    if (breaks && meanwhile && (f.touches(a, f.rail) || f.touches(b, f.rail))) failing.set(f.rail);
  }
  return failing.count();
}

bool rails_bounds::may_fail(const rails_call& c, nanoseconds now) const noexcept {
  if (had_no_answer(c.what.from, c.what.to, c.began, now)) return true;
  if (!are_parted(c.what.from, c.what.to)) return false;
  return std::ranges::any_of(plan_.faults, [&](const rails_fault& f) {
    return f.at <= now && c.began <= f.until + errors_afterwards;
  });
}

}  // namespace scoll::sim
