#include <algorithm>
#include <cstddef>
#include <vector>

#include "scoll/coro/mutants.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/rails/own_rail.hpp"
#include "transport/session/rails/path_table.hpp"
#include "transport/session/session.hpp"

// What the paths to all peers together show of this node's own rails. If a rail is dead, each peer would find
// that out by itself and try to connect by it at its own pace, which are many attempts for nothing.
namespace scoll::transport {
namespace {

/// When a rail is alive again, the connections by it are made within this time.
constexpr nanoseconds return_spread = std::chrono::milliseconds(200);

/// True if there has been a connection by the rail, or, without `by_it`, by any other one.
template <class Paths>
bool was_connected(const Paths& paths, std::uint8_t rail, bool by_it = true) noexcept {
  return std::ranges::any_of(paths, [&](const path& p) {
    return (p.key().own == rail) == by_it && p.health() != path_health::untried;
  });
}

}  // namespace

own_rail* endpoint::own_rail_at(std::uint8_t number) {
  if (rails() < 2 || number >= rails()) return nullptr;
  own_rails_.resize(rails());
  return &own_rails_[number];
}

const own_rail* endpoint::verdict_on(std::size_t rail) const noexcept {
  return rail < own_rails_.size() ? &own_rails_[rail] : nullptr;
}

/// A path that has never been connected may lead nowhere, so it shows little: the turns are for the others, if
/// there are any.
nanoseconds endpoint::turn_on_rail(path_health so_far, std::uint8_t number) {
  own_rail* const its = own_rail_at(number);
  if (its == nullptr) return nanoseconds(0);
  const bool shows_little = so_far == path_health::untried && its->dead() && has_used_rail(number);
  if (shows_little &&
      !SCOLL_MUTANT(rails_turns_for_untried, "paths that were never connected try a dead rail"))
    return own_rail::longest_pause;
  return its->turn(executor_.now());
}

bool endpoint::has_used_rail(std::uint8_t number) const noexcept {
  return std::ranges::any_of(sessions_,
                             [&](const auto& each) { return was_connected(each.second->paths(), number); });
}

/// True if exactly two peers have been connected by the rail, and none that is connected by another one might be.
bool endpoint::is_rail_of_two(std::uint8_t number) const noexcept {
  std::size_t peers = 0;
  for (const auto& [node, peer] : sessions_) {
    const bool by_rail = was_connected(peer->paths(), number);
    const bool has_path =
        std::ranges::any_of(peer->paths(), [&](const path& p) { return p.key().own == number; });
    if (has_path && !by_rail && was_connected(peer->paths(), number, false)) return false;
    peers += by_rail ? 1U : 0U;
    if (peers > 2) return false;
  }
  return peers == 2;
}

void endpoint::note_rail_loss(node_id peer, std::uint8_t number, time_point began) {
  own_rail* const its = own_rail_at(number);
  if (its == nullptr) return;
  if (!its->lost(peer, began, executor_.now(), [&] { return is_rail_of_two(number); })) return;
  const bool asks = probe_over_rail(number) && !SCOLL_MUTANT(rails_own_by_one) &&
                    !SCOLL_MUTANT(rails_own_unasked, "peers that have not lost a rail are not asked over it");
  if (!asks) settle_rails(nanoseconds(0));
}

/// Probes a few of the peers that have not lost the rail. False if there is none.
bool endpoint::probe_over_rail(std::uint8_t number) noexcept {
  std::size_t probes = 0;
  for (auto& [node, peer] : sessions_) {
    lane* const control = peer->lanes_[index(lane_id::control)].get();
    if (control == nullptr || peer->paths_ == nullptr || probes >= own_rail::peers_wanted) continue;
    control->each_up([&](carrier& c) {
      if (c.path().own != number || !peer->path_at(c.path()).usable()) return;
      c.send_probe();
      ++probes;
    });
  }
  return probes != 0;
}

bool endpoint::has_rail_in_doubt() const noexcept {
  return std::ranges::any_of(own_rails_, &own_rail::in_doubt);
}

void endpoint::settle_rails(nanoseconds patience) {
  for (std::size_t i = 0; i < own_rails_.size(); ++i) {
    own_rail& its = own_rails_[i];
    if (!its.settle(executor_.now(), patience)) continue;
    if (SCOLL_MUTANT(rails_own_untold, "a rail of this node's own that is dead is never called so")) continue;
    ++statistics_.rail_deaths;
    handler_of(traffic_class::urgent).on_rail_news({static_cast<std::uint8_t>(i), true, its.lost_by()});
  }
}

void endpoint::note_rail_answer(std::uint8_t number, time_point left) {
  own_rail* const its = own_rail_at(number);
  if (its == nullptr || !its->answered(left)) return;
  handler_of(traffic_class::urgent).on_rail_news({number, false, its->lost_by()});
  return_to_rail(number);
}

void endpoint::return_to_rail(std::uint8_t number) noexcept {
  for (auto& [node, peer] : sessions_) {
    lane* const control = peer->lanes_[index(lane_id::control)].get();
    if (control != nullptr) control->return_to_rail(number);
  }
}

/// What the connections by the rail leave unanswered from now on is noticed as usual. Nothing is cut, because
/// a hint may be wrong.
void endpoint::heed_hint(std::uint8_t number, bool usable) noexcept {
  if (SCOLL_MUTANT(rails_hint_ignored, "a rail whose interface is back is tried when its turn comes")) return;
  ++statistics_.rail_hints;
  if (own_rail* const its = own_rail_at(number); usable && its != nullptr) its->try_soon();
  for (auto& [node, peer] : sessions_) {
    lane* const control = peer->lanes_[index(lane_id::control)].get();
    if (control != nullptr) control->heed_hint(number, usable);
  }
}

/// The path does not answer what left at `began`.
void session::on_path_loss(path_key key, time_point began) {
  const bool noted = std::ranges::find(paths_->losses, key, &path_table::loss::key) != paths_->losses.end();
  if (endpoint_.rails() > 1 && !noted) paths_->losses.push_back({key, began});
}

/// The peer has lost a rail if no path by it can be used, and what left later has been answered over another
/// one. A peer that is gone answers over none.
void session::settle_losses() {
  lane& control = *lanes_[index(lane_id::control)];
  std::erase_if(paths_->losses, [&](const path_table::loss& each) {
    bool by_it = false;
    bool by_another = false;
    control.each_up([&](carrier& c) {
      if (!path_at(c.path()).usable()) return;
      const bool same = c.path().own == each.key.own;
      by_it |= same;
      by_another |= !same && c.probes().answered_probe_left() > each.began;
    });
    if (!by_it && by_another) endpoint_.note_rail_loss(peer_, each.key.own, each.began);
    return by_it || by_another;
  });
}

nanoseconds lane::turn_of(const carrier& c) {
  const bool waits = has_paths() && id_ == lane_id::control && up();
  if (!waits) return nanoseconds(0);
  return session_.endpoint_.turn_on_rail(session_.path_at(c.path()).health(), c.path().own);
}

/// An attempt that began while the rail was dead may have lost its first packet, and waits long for the next.
void lane::return_to_rail(std::uint8_t number) noexcept {
  const auto begin_anew = [&](carrier& c) {
    if (c.path().own != number || (!c.pausing() && !c.attempting())) return;
    c.stop();
    const auto spread = static_cast<std::uint64_t>(return_spread.count());
    c.connect_after(nanoseconds(static_cast<std::int64_t>(session_.endpoint_.random_.below(spread))));
  };
  begin_anew(*carrier_);
  for (auto& c : others_) begin_anew(*c);
}

void lane::heed_hint(std::uint8_t number, bool usable) noexcept {
  each_up([&](carrier& c) {
    if (c.path().own != number) return;
    if (!usable && SCOLL_MUTANT(rails_hint_believed, "an interface that is said to be down ends connections"))
      return c.sever({errc::connection_lost, "its network interface is down"});
    c.send_probe();
  });
  if (!usable || !has_paths()) return;
  for (path& each : session_.paths_->all()) {
    if (each.key().own == number) each.hope();
  }
  return_to_rail(number);
}

}  // namespace scoll::transport
