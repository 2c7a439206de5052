#include "tools/scoll-sim/rails/rails_sightings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace scoll::sim {

using transport::traffic_class;

void note_use(const transport::session& s, const rails_plan& p, nanoseconds now, coverage& seen) {
  if (!s.connected(traffic_class::call)) return;
  const std::uint8_t used = s.path_of(traffic_class::call).own;
  for (const rails_fault& f : p.faults) {
    if (f.at > now || now >= f.until) continue;
    const bool spoiled = f.kind == rails_fault_kind::narrow || f.kind == rails_fault_kind::slow;
    seen.saw(mark::rail_uneven, spoiled && used == f.rail);
    seen.saw(mark::rail_switched, p.weather == rails_weather::switched && used != f.rail);
    seen.saw(mark::rail_returned,
             p.weather == rails_weather::returned && &f != &p.faults.front() && used != f.rail);
  }
}

void note_crossed(const rails_plan& p, std::vector<std::unique_ptr<rails_host>>& hosts, coverage& seen) {
  const std::uint32_t a = *p.misled;
  for (std::uint32_t b = 0; b < p.hosts; ++b) {
    for (std::uint8_t i = 0; b != a && i < p.rails; ++i) {
      for (std::uint8_t j = 0; j < p.rails; ++j) {
        const bool here = hosts[a]->to(b).connected_by(traffic_class::call, {i, j});
        seen.saw(mark::rail_crossed, here && !hosts[b]->to(a).connected_by(traffic_class::call, {j, i}));
      }
    }
  }
}

void note_counts(const std::vector<std::unique_ptr<rails_host>>& hosts, coverage& seen) {
  for (const auto& h : hosts) {
    const transport::endpoint_statistics& count = h->wire->statistics();
    seen.saw(mark::bulk_striped, count.stripes_joined != 0);
    seen.saw(mark::landing_cut, count.landings_cut != 0);
    seen.saw(mark::cancel_held, count.cancels_held != 0);
  }
}

bool proves_for_long(const transport::session& s, nanoseconds time) noexcept {
  return std::ranges::any_of(s.paths(), [time](const transport::path& each) {
    return each.key() == transport::path_key{} && each.proof() > time;
  });
}

std::string describe_paths(const transport::session& s, time_point now) {
  using std::chrono::milliseconds;
  std::string text;
  for (const transport::path& each : s.paths())
    text += fmt::format("{}{}-{}: {} for {} ms, proof {} ms, {} deaths, {} suspicions, {}",
                        text.empty() ? "" : "; ", each.key().own, each.key().theirs, to_string(each.health()),
                        (now - each.since()) / milliseconds(1), each.proof() / milliseconds(1), each.deaths(),
                        each.suspicions(), s.connected_by(traffic_class::call, each.key()) ? "up" : "down");
  return text;
}

}  // namespace scoll::sim
