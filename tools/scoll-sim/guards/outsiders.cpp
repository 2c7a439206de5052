#include "tools/scoll-sim/guards/outsiders.hpp"

#include <algorithm>
#include <utility>

#include "tools/scoll-sim/guards/outsider_visit.hpp"

namespace scoll::sim {
namespace {

// The greeting has been answered, and the proof has been given.
constexpr std::size_t writes_of_greeting = 2;
// Nobody who may stay is turned away so early.
constexpr nanoseconds soon = std::chrono::milliseconds(500);

}  // namespace

outsiders::outsiders(testing::sim_world& world, testing::sim_network& network, const cluster_keys& keys)
    : world_(world),
      network_(network),
      keys_(keys),
      home_(world, world.hosts() - 1, {}),
      rail_(network, home_) {
  network_.listen_in();
}

outsiders::~outsiders() {
  home_.enter([this] { visits_.clear(); });
}

std::shared_ptr<transport::link_security> outsiders::security_for(outsider_manner how) const {
  const auto counts = std::make_shared<testing::sim_guard_counts>();  // not those of the nodes
  const auto with = [&](const testing::sim_ring& ring) {
    return std::make_shared<testing::sim_security>(keys_.form(), ring, begun_, counts);
  };
  switch (how) {
    case outsider_manner::wrong_secret: return with({{keys_.offered_id(), keys_.foreign_key().secret}});
    case outsider_manner::unknown_key: return with({keys_.foreign_key()});
    case outsider_manner::removed_key: return with(keys_.ring_after(0));
    default: return nullptr;
  }
}

void outsiders::begin(const events::outsider& e, std::uint32_t place, std::uint64_t life) {
  if (e.manner == outsider_manner::removed_key && keys_.step_of(e.to) != cluster_keys::last_step) return;
  const auto* const recorded = network_.overheard(place, writes_of_greeting);
  if (e.manner == outsider_manner::replay && recorded == nullptr) return;
  constexpr std::uint32_t most_at_once = 64;
  for (std::uint32_t i = 0; i < std::min(e.count, most_at_once); ++i) {
    ++begun_;
    outsider_visit::means with{keys_.offered_id(), security_for(e.manner), {}};
    if (recorded != nullptr) with.recorded = recorded->writes;
    outsider_visit& visit = visits_.emplace_back(world_, e, std::move(with), life);
    home_.enter([&] { rail_.connect(testing::sim_network::address_of(place), visit); });
  }
}

std::uint32_t outsiders::turned_away(outsider_manner how) const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(visits_, [&](const outsider_visit& v) {
    return v.how.manner == how && v.connected && v.over && !v.let_in;
  }));
}

/// A connection too many is closed without a word.
std::uint32_t outsiders::crowded_out() const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(visits_, [](const outsider_visit& v) {
    return v.connected && v.ended - v.came < soon && v.over && v.how.manner == outsider_manner::silent;
  }));
}

}  // namespace scoll::sim
