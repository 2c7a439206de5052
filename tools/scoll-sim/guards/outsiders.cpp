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

mark mark_of(outsider_manner how) {
  switch (how) {
    case outsider_manner::without_proof: return mark::outsider_without_proof;
    case outsider_manner::wrong_secret: return mark::outsider_wrong_secret;
    case outsider_manner::unknown_key: return mark::outsider_unknown_key;
    case outsider_manner::removed_key: return mark::outsider_removed_key;
    case outsider_manner::replay: return mark::outsider_replay;
    case outsider_manner::silent: return mark::outsider_silent;
    case outsider_manner::cut: return mark::outsider_cut;
    case outsider_manner::downgrade: return mark::outsider_downgrade;
    case outsider_manner::endless: return mark::outsider_endless;
    case outsider_manner::overlong: return mark::outsider_overlong;
    case outsider_manner::other_node: return mark::rail_other_node;
  }
  return mark::outsider_silent;
}

}  // namespace

outsiders::outsiders(testing::sim_world& world, testing::sim_network& network, const cluster_keys& keys,
                     std::string cluster)
    : world_(world),
      network_(network),
      keys_(keys),
      cluster_(std::move(cluster)),
      home_(world, world.hosts() - 1, {}),
      rail_(network, home_, network.hosts() - 1) {
  network_.listen_in();
}

outsiders::~outsiders() {
  home_.enter([this] { visits_.clear(); });
}

std::shared_ptr<transport::link_security> outsiders::security_for(const events::outsider& e) const {
  const auto counts = std::make_shared<testing::sim_guard_counts>();  // not those of the nodes
  const auto with = [&](const testing::sim_ring& ring) {
    auto made = std::make_shared<testing::sim_security>(keys_.form(), ring, begun_, counts);
    if (keys_.certified()) made->certify(testing::sim_certificate::issued(keys_.authority(), e.to + 1));
    return made;
  };
  switch (e.manner) {
    case outsider_manner::wrong_secret: return with({{keys_.offered_id(), keys_.foreign_key().secret}});
    case outsider_manner::unknown_key: return with({keys_.foreign_key()});
    case outsider_manner::removed_key: return with(keys_.ring_after(0));
    case outsider_manner::other_node: return with(keys_.ring_after(keys_.step_of(e.to)));
    default: return nullptr;
  }
}

void outsiders::begin(const events::outsider& e, std::uint32_t place, std::uint64_t life) {
  if (e.manner == outsider_manner::removed_key && keys_.step_of(e.to) != cluster_keys::last_step) return;
  if (e.manner == outsider_manner::other_node && !keys_.certified()) return;
  if (e.manner == outsider_manner::replay && network_.overheard(place, writes_of_greeting) == nullptr) return;
  constexpr std::uint32_t most = 64;
  const std::uint32_t count = std::min(e.count, most);
  home_.enter([&] {
    if (e.manner == outsider_manner::cut) return visit(e, place, life, count);
    for (std::uint32_t i = 0; i < count; ++i) visit(e, place, life, 1);
  });
}

void outsiders::visit(const events::outsider& e, std::uint32_t place, std::uint64_t life,
                      std::uint32_t times) {
  if (times == 0) return;
  ++begun_;
  outsider_visit::means with{keys_.offered_id(), cluster_, keys_.mode(), security_for(e), {}, {}};
  if (const auto* const recorded = network_.overheard(place, writes_of_greeting))
    with.recorded = recorded->writes;
  with.come_again = [this, e, place, life, times] { visit(e, place, life, times - 1); };
  rail_.connect(testing::sim_network::address_of(place),
                visits_.emplace_back(world_, e, std::move(with), life));
}

std::uint32_t outsiders::turned_away(outsider_manner how) const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(visits_, [&](const outsider_visit& v) {
    return v.how.manner == how && v.connected && v.over && !v.let_in;
  }));
}

/// A connection too many is closed without a word.
std::uint32_t outsiders::crowded_out(outsider_manner how) const noexcept {
  return static_cast<std::uint32_t>(std::ranges::count_if(visits_, [&](const outsider_visit& v) {
    return v.connected && v.ended != nanoseconds(0) && v.ended - v.came < soon && v.how.manner == how;
  }));
}

void outsiders::note_seen(coverage& seen) const {
  for (std::size_t i = 0; i < outsider_manners; ++i) {
    const auto how = static_cast<outsider_manner>(i);
    seen.saw(mark_of(how), turned_away(how) != 0);
  }
  seen.saw(mark::outsiders_crowded, crowded_out(outsider_manner::silent) != 0);
  seen.saw(mark::outsiders_owe_proofs, crowded_out(outsider_manner::cut) != 0);
}

}  // namespace scoll::sim
