#include "scoll/rail_snapshot.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node.hpp"
#include "transport/session/session.hpp"

// A node describes its rails, and the paths to its peers.
namespace scoll {
namespace {

using transport::path_health;
using transport::path_key;
using transport::traffic_class;

std::string verdict_on(const transport::endpoint& wire, std::size_t rail) {
  const transport::own_rail* const its = wire.verdict_on(rail);
  return its != nullptr && its->dead() ? rail_verdict(its->lost_by()) : std::string();
}

path_snapshot describe_path(const transport::endpoint& wire, const transport::session& peer, path_key key) {
  path_snapshot s;
  s.own_rail = key.own;
  s.rail = wire.name_of_rail(key.own);
  s.rail_verdict = verdict_on(wire, key.own);
  s.peer_rail = s.arrives_at = key.theirs;
  s.address = peer.address_on(key.theirs);
  s.connected = peer.connected_by(traffic_class::collective, key);
  s.bulk_connected = peer.connected_by(traffic_class::bulk, key);
  s.carries = peer.path_of(traffic_class::collective) == key;
  s.carries_bulk = peer.path_of(traffic_class::bulk) == key;
  return s;
}

path_snapshot describe_path(const transport::endpoint& wire, const transport::session& peer,
                            const transport::path& of, time_point now) {
  path_snapshot s = describe_path(wire, peer, of.key());
  s.health = of.health();
  s.arrives_at = of.arrives_at();
  if (of.since() != time_point()) s.age = now - of.since();
  s.why = of.why();
  s.suspicions = of.suspicions();
  s.deaths = of.deaths();
  s.moves = of.moves();
  s.proof = of.proof();
  if (!s.connected && of.next_try() > now) s.next_try = of.next_try() - now;
  return s;
}

/// The only path to a peer. Nothing is known of it but whether it is connected.
path_snapshot describe_only_path(const transport::endpoint& wire, const transport::session& peer) {
  path_snapshot s = describe_path(wire, peer, {});
  s.why = peer.last_failure(traffic_class::collective);
  s.health = s.connected ? path_health::good : s.why ? path_health::dead : path_health::untried;
  return s;
}

std::vector<path_snapshot> describe_paths(const transport::endpoint& wire, const transport::session& peer) {
  std::vector<path_snapshot> all;
  for (const transport::path& each : peer.paths())
    all.push_back(describe_path(wire, peer, each, wire.get_executor().now()));
  if (all.empty()) all.push_back(describe_only_path(wire, peer));
  return all;
}

/// Gathers what the paths by one rail show.
class rail_summary {
 public:
  void add(const path_snapshot& path) {
    ++made_.paths[static_cast<std::size_t>(path.health)];
    const bool up = path.connected && path.health != path_health::suspect;
    const bool failed = !up && path.why;
    up_ |= up;
    failed_ |= failed;
    if (up) longest_up_ = std::max(longest_up_, path.age);
    if (failed) latest_failure_ = earlier(latest_failure_, path.age);
    if (path.why && (made_.last_error.empty() || newer(path.age, error_age_))) {
      made_.last_error = describe(path.why);
      error_age_ = path.age;
    }
  }
  void add_peer(bool connected) { made_.peers += connected ? 1U : 0U; }

  rail_snapshot take() {
    made_.state = up_ ? "up" : failed_ ? "down" : "idle";
    made_.age = up_ ? longest_up_ : failed_ ? latest_failure_ : std::nullopt;
    return std::move(made_);
  }

 private:
  using age = std::optional<nanoseconds>;
  static age earlier(age one, age other) { return one && (!other || *one < *other) ? one : other; }
  static bool newer(age one, age other) { return one && (!other || *one < *other); }

  rail_snapshot made_;
  bool up_ = false;
  bool failed_ = false;
  age longest_up_;
  age latest_failure_;
  age error_age_;
};

}  // namespace

std::string rail_verdict(std::size_t peers) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(transport::own_rail::within);
  return fmt::format("lost by {} peers within {} s", peers, seconds.count());
}

std::vector<rail_snapshot> node::rails() const {
  transport::endpoint& wire = engine_->wire();
  std::vector<rail_summary> sums(wire.rails());
  wire.sessions([&](transport::session& peer) {
    std::vector<bool> connected(sums.size());
    for (const path_snapshot& each : describe_paths(wire, peer)) {
      sums[each.own_rail].add(each);
      if (each.connected) connected[each.own_rail] = true;
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_peer(connected[i]);
  });
  std::vector<rail_snapshot> all;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    all.push_back(sums[i].take());
    all.back().name = wire.name_of_rail(i);
    all.back().address = wire.address_of_rail(i);
    all.back().device = wire.device_of_rail(i);
    all.back().connections = wire.rail_at(i).open();
    all.back().verdict = verdict_on(wire, i);
    if (!all.back().verdict.empty()) all.back().state = "dead";
  }
  return all;
}

std::vector<path_snapshot> node::paths(node_id peer) const {
  const transport::session* const found = engine_->wire().find(peer);
  if (found == nullptr) return {};
  return describe_paths(engine_->wire(), *found);
}

}  // namespace scoll
