#include "tools/scoll-sim/rails/rails_faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tools/scoll-sim/rails/rails_host.hpp"
#include "tools/scoll-sim/verbs/draw_devices.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr nanoseconds begin = first_rails_fault;
// A phase of a storm spares one rail. Between phases all rails come back.
constexpr nanoseconds phase = seconds(12);
constexpr nanoseconds respite = rails_respite;

rails_weather weather_of(draws& random, fault_profile faults) {
  if (faults == fault_profile::none) return rails_weather::calm;
  constexpr rails_weather all[]{rails_weather::calm,   rails_weather::pauses, rails_weather::gentle,
                                rails_weather::gentle, rails_weather::gentle, rails_weather::flapping,
                                rails_weather::storm,  rails_weather::storm};
  return random.one_of(all);
}

nanoseconds ms(std::uint64_t count) noexcept {
  return milliseconds(static_cast<std::int64_t>(count));
}

void draw_pauses(rails_plan& p, draws& random) {
  for (nanoseconds at = begin; at < seconds(30); at += seconds(6)) {
    const nanoseconds lasts = ms(random.between(20, 4'000));
    p.faults.push_back({at, at + lasts, rails_fault_kind::stall,
                        static_cast<std::uint32_t>(random.below(p.hosts)), 0, false});
  }
}

void draw_gentle(rails_plan& p, draws& random) {
  constexpr rails_fault_kind kinds[]{rails_fault_kind::cut,       rails_fault_kind::block,
                                     rails_fault_kind::block_out, rails_fault_kind::block_out,
                                     rails_fault_kind::half_open, rails_fault_kind::refuse};
  nanoseconds at = begin;
  for (int i = 0; i < 3; ++i) {
    // A rail that is back while the segments that it held are being sent again brings late copies.
    const bool brief = p.transfers && random.chance(1, 2);
    const nanoseconds lasts = ms(brief ? random.between(600, 900) : random.between(50, 5'000));
    p.faults.push_back({at + ms(random.below(500)), at + lasts, random.one_of(kinds),
                        static_cast<std::uint32_t>(random.below(p.transfers ? 2 : p.hosts)),
                        static_cast<std::uint32_t>(random.chance(3, 4) ? 0 : 1), random.chance(1, 4)});
    at += lasts + respite + seconds(10);
  }
}

void draw_flapping(rails_plan& p, draws& random) {
  const auto host = static_cast<std::uint32_t>(random.below(p.hosts));
  for (nanoseconds at = begin; at < begin + seconds(24);) {
    const nanoseconds lasts = ms(random.between(250, 500));
    p.faults.push_back({at, at + lasts, rails_fault_kind::block, host, 0, true});
    at += lasts + ms(random.between(700, 1'100));
  }
}

void draw_storm(rails_plan& p, draws& random) {
  for (nanoseconds from = begin; from < begin + 2 * (phase + respite); from += phase + respite) {
    const std::uint64_t spared = random.below(p.rails);
    const std::uint64_t count = random.between(2, 12);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto kind = static_cast<rails_fault_kind>(random.below(storm_fault_kinds));
      const nanoseconds at = from + ms(random.below(8'000));
      const nanoseconds lasts = ms(random.magnitude(20, 6'000));
      const std::uint64_t rail = (spared + random.between(1, p.rails - 1)) % p.rails;
      p.faults.push_back({at, std::min(at + lasts, from + phase), kind,
                          static_cast<std::uint32_t>(random.below(p.hosts)), static_cast<std::uint32_t>(rail),
                          random.chance(1, 4)});
    }
  }
}

template <class Use>
void each_pair(const rails_fault& f, const rails_plan& p, Use&& use) {
  for (std::uint32_t host = 0; host < p.hosts; ++host) {
    if (host != f.host && !f.all_hosts) continue;
    for (std::uint32_t other = 0; other < p.hosts; ++other) {
      for (std::uint32_t theirs = 0; other != host && theirs < p.rails; ++theirs)
        use(rails_host::place(host, f.rail, p.hosts), rails_host::place(other, theirs, p.hosts));
    }
  }
}

}  // namespace

bool is_near_fault(const rails_plan& p, nanoseconds now) noexcept {
  const auto is_near = [now](const auto& f) {
    return now >= f.at - milliseconds(300) && now <= f.until + milliseconds(500);
  };
  return std::ranges::any_of(p.faults, is_near) || std::ranges::any_of(p.device_faults, is_near);
}

rails_plan draw_rails(const plan& p) {
  draws random(p.seed, "rails");
  rails_plan drawn;
  drawn.hosts = std::clamp<std::uint32_t>(static_cast<std::uint32_t>(random.between(2, 4)), 2, p.hosts);
  drawn.rails = random.chance(1, 3) ? 3 : 2;
  drawn.calls_one_way = random.chance(1, 3);
  drawn.weather = weather_of(random, p.faults);
  draws loads(p.seed, "rails loads");
  drawn.transfers = loads.chance(2, 5);
  for (std::uint32_t rail = 0; rail < drawn.rails; ++rail) {
    constexpr std::uint64_t speeds[]{10'000, 40'000, 40'000, 160'000};
    drawn.ps_per_byte.push_back(drawn.transfers ? loads.one_of(speeds) : 80);
  }
  switch (drawn.weather) {
    case rails_weather::calm: break;
    case rails_weather::pauses: draw_pauses(drawn, random); break;
    case rails_weather::gentle: draw_gentle(drawn, random); break;
    case rails_weather::flapping: draw_flapping(drawn, random); break;
    default: draw_storm(drawn, random); break;
  }
  draw_other_weather(p, drawn);
  if (drawn.weather > rails_weather::storm) {
    drawn.transfers = false;
    std::ranges::fill(drawn.ps_per_byte, 80);
  }
  if (p.work == workload::verbs) draw_devices(p, drawn);
  std::ranges::sort(drawn.faults, {}, &rails_fault::at);
  sort_by(&device_fault::at, drawn.device_faults);
  std::ranges::sort(drawn.hints, {}, &rails_hint::at);
  drawn.faults_end = begin + seconds(8);
  for (const rails_fault& f : drawn.faults) drawn.faults_end = std::max(drawn.faults_end, f.until);
  for (const device_fault& f : drawn.device_faults) drawn.faults_end = std::max(drawn.faults_end, f.until);
  for (const rails_hint& h : drawn.hints) drawn.faults_end = std::max(drawn.faults_end, h.at + seconds(1));
  return drawn;
}

std::string describe(const rails_plan& p) {
  constexpr std::string_view weathers[]{"calm",     "pauses",  "gentle",   "flapping", "storm",    "altered",
                                        "uneven",   "crossed", "switched", "restless", "opposite", "lonely",
                                        "returned", "claimed", "hinted",   "devices"};
  constexpr std::string_view kinds[]{"cut",  "block", "block_out", "half_open", "lose_all", "refuse",
                                     "slow", "stall", "block_in",  "alter",     "narrow"};
  constexpr std::string_view device_kinds[]{"port_down",    "port_silent", "fails",      "away",
                                            "post_refused", "unheard",     "slow_calls", "memory_refused"};
  std::string text =
      fmt::format("{}: {} hosts with {} rails{}\n", weathers[static_cast<std::size_t>(p.weather)], p.hosts,
                  p.rails, p.calls_one_way ? ", of which the first one calls" : "");
  if (p.misled) text += fmt::format("host {} names the rails of its peers in a wrong order\n", *p.misled);
  if (p.claimed) text += fmt::format("a second server claims the id of host {}\n", *p.claimed);
  for (const rails_fault& f : p.faults)
    text += fmt::format("{:>6} to {:>6} ms: {} on rail {} of {}\n", f.at / milliseconds(1),
                        f.until / milliseconds(1), kinds[static_cast<std::size_t>(f.kind)], f.rail,
                        f.all_hosts ? "all hosts" : fmt::format("host {}", f.host));
  for (std::size_t rail = 0; rail < p.by_rdma.size(); ++rail)
    if (p.by_rdma[rail]) text += fmt::format("rail {} is made by RDMA\n", rail);
  if (p.windows != 0) text += fmt::format("its links have {} memory windows\n", p.windows);
  for (const device_fault& f : p.device_faults)
    text += fmt::format("{:>6} to {:>6} ms: {} of rail {} of host {}\n", f.at / milliseconds(1),
                        f.until / milliseconds(1), device_kinds[static_cast<std::size_t>(f.kind)], f.rail,
                        f.host);
  for (const rails_hint& h : p.hints)
    text += fmt::format("{:>6} ms: rail {} of host {} says that it is {}{}\n", h.at / milliseconds(1), h.rail,
                        h.host, h.usable ? "back" : "down", h.is_true ? "" : ", for no reason");
  return text;
}

void set_speeds(testing::sim_network& network, const rails_plan& p) {
  if (!p.transfers) return;
  const std::uint32_t places = p.hosts * p.rails;
  for (std::uint32_t from = 0; from < places; ++from) {
    for (std::uint32_t to = 0; to < places; ++to) {
      network.path(from, to).model.ps_per_byte =
          std::max(p.ps_per_byte[from / p.hosts], p.ps_per_byte[to / p.hosts]);
    }
  }
}

void carry_out(const rails_fault& f, testing::sim_network& network, const rails_plan& p) {
  each_pair(f, p, [&](std::uint32_t here, std::uint32_t there) {
    testing::sim_path& out = network.path(here, there);
    testing::sim_path& in = network.path(there, here);
    switch (f.kind) {
      case rails_fault_kind::cut: return network.cut(here, there);
      case rails_fault_kind::half_open: return network.half_open(here, there);
      case rails_fault_kind::lose_all: return network.lose_all(here, there);
      case rails_fault_kind::block: in.blocked_until = std::max(in.blocked_until, f.until); [[fallthrough]];
      case rails_fault_kind::block_out: out.blocked_until = std::max(out.blocked_until, f.until); return;
      case rails_fault_kind::refuse:
        in.refused_until = out.refused_until = std::max(in.refused_until, f.until);
        return network.cut(here, there);
      case rails_fault_kind::slow:
        out.slow_until = std::max(out.slow_until, f.until);
        out.extra = milliseconds(20);
        return;
      case rails_fault_kind::stall: return;
      case rails_fault_kind::block_in: in.blocked_until = std::max(in.blocked_until, f.until); return;
      case rails_fault_kind::alter:
        out.corrupt_next += f.amount;
        in.corrupt_next += f.amount;
        return;
      case rails_fault_kind::narrow:
        for (testing::sim_path* const way : {&out, &in}) {
          way->narrow_until = std::max(way->narrow_until, f.until);
          way->narrowing = f.amount;
        }
        return;
    }
  });
}

}  // namespace scoll::sim
