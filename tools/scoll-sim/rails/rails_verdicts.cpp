#include "tools/scoll-sim/rails/rails_verdicts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// So long after a fault a rail may still be found out to have failed: a connection that stands by is probed
// every five seconds.
constexpr nanoseconds consequences = seconds(7);
// A host that asks its peers all the time finds out within this time that its first rail is dead, or alive.
constexpr nanoseconds time_to_find_out = milliseconds(1'500);
constexpr nanoseconds time_to_return = milliseconds(2'700);
// Two peers are needed to call a rail dead.
constexpr std::uint32_t hosts_wanted = 3;

}  // namespace

/// Pieces that are to be altered are so when they are sent, however late.
bool rails_verdicts::disturbed(std::uint32_t host, std::uint32_t rail, nanoseconds now) const noexcept {
  const auto by_device = [&](const device_fault& f) {
    return f.touches(host, rail) && f.at <= now && now <= f.until + consequences;
  };
  return std::ranges::any_of(plan_.device_faults, by_device) ||
         std::ranges::any_of(plan_.faults, [&](const rails_fault& f) {
           const bool over = f.kind != rails_fault_kind::alter && now > f.until + consequences;
           return f.touches(host, rail) && f.at <= now && !over;
         });
}

/// True if nothing has happened to the rail, nor to any rail of one of the peers.
bool rails_verdicts::works(std::uint32_t host, std::uint32_t rail, nanoseconds now) const noexcept {
  if (disturbed(host, rail, now)) return false;
  for (std::uint32_t peer = 0; peer < plan_.hosts; ++peer) {
    bool whole = peer != host;
    for (std::uint32_t theirs = 0; theirs < plan_.rails; ++theirs) whole &= !disturbed(peer, theirs, now);
    if (whole) return true;
  }
  return false;
}

/// News are told once, dead and alive by turns, and only of a rail over which no peer could answer.
std::string rails_verdicts::wrong_news(std::uint32_t host, nanoseconds now) {
  const auto& news = hosts_[host]->news;
  for (; heard_[host] < news.size(); ++heard_[host]) {
    const transport::rail_news& said = news[heard_[host]];
    bool dead = false;
    for (std::size_t i = 0; i < heard_[host]; ++i) {
      if (news[i].rail == said.rail) dead = news[i].dead;
    }
    (said.dead ? died_ : came_back_) = true;
    if (dead == said.dead)
      return fmt::format("host {} says twice that rail {} is {}", host, said.rail, dead ? "dead" : "alive");
    if (said.dead && works(host, said.rail, now))
      return fmt::format("host {} calls rail {} dead, which works", host, said.rail);
  }
  return {};
}

/// The host whose first rail is gone says so, and says when it is back.
std::string rails_verdicts::untold(const rails_fault& f, nanoseconds now) const {
  if (f.rail != 0 || now < f.at + time_to_find_out) return {};
  const transport::own_rail* const its = hosts_[f.host]->wire->verdict_on(0);
  const bool dead = its != nullptr && its->dead();
  if (now < f.until && !dead)
    return fmt::format("host {} does not call its first rail dead, which failed {} ms ago", f.host,
                       (now - f.at) / milliseconds(1));
  if (now > f.until + time_to_return && dead)
    return fmt::format("host {} calls its first rail dead, which came back {} ms ago", f.host,
                       (now - f.until) / milliseconds(1));
  return {};
}

void rails_verdicts::check(nanoseconds now, violations& found) {
  heard_.resize(hosts_.size());
  const auto note = [&](const std::string& what) {
    if (!what.empty()) found.push_back({"an own rail is dead if and only if its peers show it", what});
  };
  for (std::uint32_t host = 0; host < plan_.hosts; ++host) note(wrong_news(host, now));
  if (plan_.weather != rails_weather::lonely || plan_.hosts < hosts_wanted) return;
  for (const rails_fault& f : plan_.faults) {
    const bool latest = std::ranges::none_of(plan_.faults, [&](const rails_fault& later) {
      return later.host == f.host && later.at > f.at && later.at <= now;
    });
    if (f.at <= now && latest) note(untold(f, now));
  }
}

}  // namespace scoll::sim
