#include "tools/scoll-sim/rails/rails_hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace scoll::sim {
namespace {

// Connections are made within 200 ms of each other, and one may be lost in a collision.
constexpr nanoseconds time_to_connect = std::chrono::milliseconds(700);

}  // namespace

void rails_hints::pass(nanoseconds now, violations& found) {
  for (; given_ < plan_.hints.size() && plan_.hints[given_].at <= now; ++given_) {
    const rails_hint& next = plan_.hints[given_];
    rails_host& host = *hosts_[next.host];
    host.home.enter([&] { host.rail(next.rail).hint(next.usable); });
  }
  for (; checked_ < given_ && plan_.hints[checked_].at + time_to_connect <= now; ++checked_)
    check(plan_.hints[checked_], found);
}

void rails_hints::check(const rails_hint& given, violations& found) {
  if (!given.usable || !given.is_true) return;
  for (std::uint32_t other = 0; other < plan_.hosts; ++other) {
    if (other == given.host) continue;
    const transport::session& peer = hosts_[given.host]->to(other);
    const bool connected = std::ranges::any_of(peer.paths(), [&](const transport::path& each) {
      return each.key().own == given.rail && peer.connected_by(transport::traffic_class::call, each.key());
    });
    heeded_ |= connected;
    if (!connected && peer.connected(transport::traffic_class::call))
      found.push_back(
          {"a hint is heeded", fmt::format("host {} is not connected to host {} by rail {}, which is back",
                                           given.host, other, given.rail)});
  }
}

}  // namespace scoll::sim
