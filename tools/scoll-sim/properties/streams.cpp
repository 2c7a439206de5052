#include <algorithm>
#include <string_view>

#include "tools/scoll-sim/cluster/services.hpp"
#include "tools/scoll-sim/properties/broadcast_report.hpp"

// The items that members stream.
namespace scoll::sim {
namespace {

/// The items of each member came once and in order, and those of a merged member all came.
void items_come_once(const broadcast_record& b, violations& found) {
  constexpr std::string_view property = "items arrive once, in order, or their rank is not merged";
  const stream_record& s = *b.stream;
  if (!s.wrong.empty()) return report(found, property, b, s.wrong);
  if (const std::string missing = s.missing(b.account); !missing.empty()) report(found, property, b, missing);
}

/// No member sends more parts than it was allowed. Without faults, no more items are on their way than the parts hold
/// that each node keeps: four of each child, and two of its own.
void parts_are_bounded(const broadcast_record& b, const cluster& c, violations& found) {
  for (const cause& why : b.account.causes()) {
    if (why.what == errc::malformed && why.what.text().find("were allowed") != std::string_view::npos)
      return report(found, "parts are bounded", b, "a member sent more than it was allowed");
  }
  constexpr std::uint32_t large = 10'000;  // of which three fit a part
  const auto n = static_cast<std::uint32_t>(b.addressed.size());
  const std::uint32_t most = 3 * (4 * (n - 1) + 2 * n);
  const stream_record& s = *b.stream;
  const bool counts = c.faults().empty() && s.how.bytes / 2 >= large && !s.how.collects;
  if (counts && s.most_ahead > most)
    report(found, "parts are bounded", b,
           fmt::format("{} items were on their way, {} may be", s.most_ahead, most));
}

/// Without faults, a stream that is read as fast as it comes ends soon after the work of its members.
void a_stream_flows(const broadcast_record& b, const cluster& c, violations& found) {
  const stream_record& s = *b.stream;
  const bool hurried = b.was_stopped() || b.held || b.group->is_ending() || is_revoked(b) || b.options.last;
  if (!c.faults().empty() || s.how.pause.count() != 0 || hurried || deaf(b.number)) return;
  const nanoseconds work = std::chrono::microseconds(b.request.work_us);
  if (b.bound == nanoseconds::max() || b.bound < 4 * (work + long_way)) return;
  const auto late = [](const cause& why) { return why.what == errc::deadline_exceeded; };
  if (std::ranges::any_of(b.account.causes(), late))
    report(found, "a stream flows", b, fmt::format("{} of {} items came", s.taken, s.put));
}

}  // namespace

void check_stream(const broadcast_record& b, const cluster& c, violations& found) {
  if (!b.stream) return;
  items_come_once(b, found);
  parts_are_bounded(b, c, found);
  a_stream_flows(b, c, found);
}

}  // namespace scoll::sim
