#include <algorithm>
#include <string_view>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "transport/session/endpoint.hpp"

// Hosts that stand still while calls to them wait. No call needs a deadline to end then, and nobody else is
// given up for silent.
namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

/// From the last answer of a host to the end of what waits for it: a probe leaves within a second and a look,
/// clocks drift by 2 %, and a new connection has a grace.
const nanoseconds longest_wait =
    transport::endpoint_options{}.silence_limit * 102 / 100 + milliseconds(2'500);
/// No host that was there is silent for longer, though a connection that was lost before may have been, until
/// another one was tried.
const nanoseconds shortest_silence =
    transport::endpoint_options{}.silence_limit * 96 / 100 - milliseconds(1'500);

nanoseconds overlap(const errand_record& r, const fault_record& f) {
  return std::min(r.ended, f.until) - std::max(r.began, f.from);
}

/// For how long of a call the host really stood still: a record of a fault lasts longer than the fault.
nanoseconds stood_still(const errand_record& r, const fault_record& f) {
  return std::min(r.ended, f.until - fault_record::aftermath) - std::max(r.began, f.from);
}

void report(violations& found, std::string_view property, const errand_record& r, nanoseconds waited) {
  found.push_back(
      {std::string(property),
       fmt::format("call {} from host {} to host {} took {} ms, for {} ms of which that host stood still; {}",
                   r.number, r.from->host, r.to, (r.ended - r.began) / milliseconds(1),
                   waited / milliseconds(1), r.failure ? describe(r.failure) : "ok")});
}

/// The time for which its own host stood still.
nanoseconds own_pause(const errand_record& r, const cluster& c) {
  nanoseconds paused{0};
  for (const fault_record& f : c.faults()) {
    if (f.stalls && f.hosts.contains(r.from->host)) paused += std::max(nanoseconds(0), overlap(r, f));
  }
  return paused;
}

}  // namespace

void check_silence(const cluster& c, violations& found) {
  for (const auto& [number, r] : c.calls().records()) {
    if (number >= errands::first_roll_call || r.ended_by_crash || r.from->crashed || !r.done) continue;
    nanoseconds waited{0};
    nanoseconds silent{0};  // others may have waited for it before
    for (const fault_record& f : c.faults()) {
      if (!f.stalls || !f.hosts.contains(r.to)) continue;
      waited = std::max(waited, stood_still(r, f));
      silent = std::max(silent, std::min(r.ended, f.until) - f.from);
    }
    if (waited > longest_wait + own_pause(r, c)) report(found, "nobody waits for the silent", r, waited);
    const bool given_up = r.failure.text().find(fmt::format("node {} has not answered for", r.to + 1)) !=
                          std::string_view::npos;
    if (given_up && silent < shortest_silence) report(found, "only the silent are given up", r, silent);
  }
}

}  // namespace scoll::sim
