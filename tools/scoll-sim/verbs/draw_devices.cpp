#include "tools/scoll-sim/verbs/draw_devices.hpp"

#include <algorithm>

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

nanoseconds time_of_ms(std::uint64_t ms) noexcept {
  return milliseconds(static_cast<std::int64_t>(ms));
}

std::uint32_t any_rail_by_rdma(const rails_plan& p, draws& random) {
  auto rail = static_cast<std::uint32_t>(random.below(p.rails));
  while (!p.by_rdma[rail]) rail = (rail + 1) % p.rails;
  return rail;
}

/// The second server of `claimed` has no devices, what is altered is checked by devices, and hints are those of
/// interfaces. Links by RDMA break half a second after one direction has fallen silent, so a session does not
/// survive `opposite` as it does over TCP.
bool fits_devices(rails_weather weather) noexcept {
  return weather != rails_weather::opposite && weather != rails_weather::claimed &&
         weather != rails_weather::altered && weather != rails_weather::hinted;
}

/// Devices of one rail fail at a time, and what they have spoilt has time to come back.
void draw_device_faults(rails_plan& p, draws& random) {
  nanoseconds at = first_rails_fault;
  for (std::uint64_t i = random.between(2, 6); i-- != 0;) {
    device_fault f;
    f.rail = any_rail_by_rdma(p, random);
    const nanoseconds lasts = time_of_ms(random.magnitude(20, 5'000));
    for (std::uint64_t count = random.chance(1, 3) ? random.between(2, 4) : 1; count-- != 0;) {
      f.kind = static_cast<device_fault_kind>(random.below(device_fault_kinds));
      f.host = static_cast<std::uint32_t>(random.below(p.transfers ? 2 : p.hosts));
      f.at = at + time_of_ms(random.below(500));
      f.until = f.at + lasts;
      f.amount = f.kind == device_fault_kind::unheard ? (f.host + 1) % p.hosts
                                                      : static_cast<std::uint32_t>(random.below(40));
      p.device_faults.push_back(f);
    }
    at += lasts + rails_respite + seconds(5);
  }
}

}  // namespace

void draw_devices(const plan& p, rails_plan& drawn) {
  draws random(p.seed, "devices");
  for (std::uint32_t rail = 0; rail < drawn.rails; ++rail) drawn.by_rdma.push_back(random.chance(2, 3));
  if (std::ranges::none_of(drawn.by_rdma, [](bool each) { return each; }))
    drawn.by_rdma[random.below(drawn.rails)] = true;
  draws for_windows(p.seed, "windows");
  if (for_windows.chance(1, 2)) drawn.windows = static_cast<std::uint32_t>(for_windows.between(4, 12));
  const bool fail = random.chance(1, 2) && p.faults != fault_profile::none;
  if (!fail && fits_devices(drawn.weather)) return;
  drawn.weather = p.faults == fault_profile::none ? rails_weather::calm : rails_weather::devices;
  drawn.faults.clear();
  drawn.hints.clear();
  drawn.misled.reset();
  drawn.claimed.reset();
  drawn.cut_off.reset();
  drawn.transfers = random.chance(3, 4);
  if (drawn.transfers) {
    constexpr std::uint64_t speeds[]{1'000, 10'000, 40'000};
    for (std::uint64_t& each : drawn.ps_per_byte) each = random.one_of(speeds);
  }
  if (drawn.weather == rails_weather::devices) draw_device_faults(drawn, random);
}

}  // namespace scoll::sim
