#pragma once

#include <string>
#include <string_view>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/cluster/records.hpp"
#include "tools/scoll-sim/properties/properties.hpp"

namespace scoll::sim {

/// Reports that a broadcast violates a property.
inline void report(violations& found, std::string_view property, const broadcast_record& b,
                   const std::string& what) {
  found.push_back(
      {std::string(property),
       fmt::format("broadcast {} of group {} from host {}: {}; status {}; {}", b.number, b.group->number,
                   b.root->host, what, b.outcome_status ? "ok" : describe(b.outcome_status.error()),
                   describe(b.account))});
}

/// True for the reasons for which operations end early.
inline bool is_early_end(errc code) {
  return code == errc::deadline_exceeded || code == errc::cancelled || code == errc::revoked ||
         code == errc::unknown_group || code == errc::peer_died || code == errc::closed;
}

/// True if the group was revoked before the broadcast had ended.
inline bool is_revoked(const broadcast_record& b) {
  for (const group_record* g = b.group; g != nullptr; g = g->outer) {
    if (!g->revokes.empty() && g->first_revoke().at <= b.ended) return true;
  }
  return false;
}

/// True if members may have been asked in further rounds, over other trees.
inline bool is_repaired(const broadcast_record& b, const cluster& c) {
  return b.options.on_failure == repair && !c.faults().empty();
}

/// The limits of time that a broadcast keeps, and what is done when its time is over.
void check_broadcast_times(const broadcast_record& b, const cluster& c, violations& found);
/// The items that its members stream.
void check_stream(const broadcast_record& b, const cluster& c, violations& found);
/// What it chose to do about members that fail.
void check_policies(const broadcast_record& b, const cluster& c, violations& found);
/// What its trace says.
void check_trace(const broadcast_record& b, violations& found);

}  // namespace scoll::sim
