#include "scoll/node_control/rails.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "scoll/coro/error_format.hpp"
#include "scoll/node_control/seconds.hpp"
#include "transport/session/rails/path.hpp"

namespace scoll::detail {
namespace {

using transport::path_health;

json milliseconds_json(const std::optional<nanoseconds>& time) {
  return time ? json(std::chrono::duration<double, std::milli>(*time).count()) : json(nullptr);
}

std::string text_of(const std::optional<nanoseconds>& age) {
  return age ? fmt::format(" for {:.1f} s", seconds_of(*age)) : "";
}

/// "rail a to 10.0.0.2:7001"
std::string name_of(const path_snapshot& p) {
  const std::string to = p.address.empty() ? fmt::format("rail {} of the peer", p.peer_rail + 1) : p.address;
  return p.rail.empty() ? to : fmt::format("rail {} to {}", p.rail, to);
}

std::string reason_of(const path_snapshot& p) {
  return p.why ? ": " + describe(p.why) : "";
}

/// A sentence about the rail of a path, if it is dead.
std::string rail_sentence(const path_snapshot& p) {
  if (p.rail_verdict.empty()) return "";
  return fmt::format(" Rail {} of this node is dead: {}. One peer at a time tries it.", p.rail,
                     p.rail_verdict);
}

/// A sentence about where connections arrive, if not where they are meant to.
std::string crossing_sentence(const path_snapshot& p) {
  if (p.arrives_at == p.peer_rail) return "";
  return fmt::format(
      " Its connections arrive at rail {} of the peer, not at rail {}: the addresses of the peer stand in "
      "another order than its rails, or wires are crossed.",
      p.arrives_at + 1, p.peer_rail + 1);
}

/// One sentence about the state of a path, and one about its rail if that is dead.
std::string state_sentence(const path_snapshot& p) {
  const std::string next =
      p.next_try ? fmt::format(" The next attempt to connect is in {:.1f} s.", seconds_of(*p.next_try)) : "";
  const std::string name = "The path by " + name_of(p);
  if (p.health == path_health::good && p.connected)
    return fmt::format("{} has been good{}.", name, text_of(p.age));
  if (p.health == path_health::good) return fmt::format("{} was good, and is not connected.", name);
  if (p.health == path_health::suspect)
    return fmt::format("{} has been suspect{}{}. It is cut if it does not answer.{}", name, text_of(p.age),
                       reason_of(p), rail_sentence(p));
  if (p.health == path_health::dead)
    return fmt::format("{} has been dead{}{}.{}", name, text_of(p.age), reason_of(p),
                       next + rail_sentence(p));
  if (p.health == path_health::proving) {
    return fmt::format(
        "{} has been back{}, after trouble{}. It must answer for {:.1f} s before it is preferred again.",
        name, text_of(p.age), reason_of(p), seconds_of(p.proof));
  }
  if (p.why) return fmt::format("{} could not be connected{}.{}", name, reason_of(p), next);
  return fmt::format("{} has not been tried.", name);
}

/// Tells the state of a path, and where it arrives if wires are crossed.
std::string sentence_about(const path_snapshot& p) {
  return state_sentence(p) + crossing_sentence(p);
}

using paths = std::vector<path_snapshot>;

void explain_messages(const paths& all, std::vector<std::string>& said) {
  const auto chosen = std::ranges::find(all, true, &path_snapshot::carries);
  if (chosen == all.end()) return;
  if (!chosen->connected) {
    said.push_back("No path is connected. The next message is sent by " + name_of(*chosen) +
                   ", or by the first path that connects.");
  } else if (chosen == all.begin()) {
    said.push_back("Messages go by " + name_of(*chosen) + ", which is the preferred path.");
  } else {
    said.push_back("Messages go by " + name_of(*chosen) +
                   ", because no path before it in the order of preference can be used:");
    for (auto before = all.begin(); before != chosen; ++before) said.push_back(sentence_about(*before));
  }
  said.push_back(sentence_about(*chosen));
}

void explain_bulk(const paths& all, std::vector<std::string>& said) {
  const auto bulk = std::ranges::find(all, true, &path_snapshot::bulk_connected);
  if (bulk == all.end()) {
    said.push_back("There is no connection for bulk.");
  } else if (bulk->carries) {
    said.push_back("Bulk messages go by the same path.");
  } else {
    said.push_back("Bulk messages go by " + name_of(*bulk) + ".");
    said.push_back(sentence_about(*bulk));
  }
}

void explain_standby(const paths& all, std::vector<std::string>& said) {
  const auto waits = [](const path_snapshot& p) {
    return p.connected && !p.carries && p.health != path_health::suspect;
  };
  const auto standby = std::ranges::find_if(all, waits);
  said.push_back(standby == all.end() ? "No other path stands by."
                                      : "The path by " + name_of(*standby) + " stands by.");
}

}  // namespace

json rail_json(const rail_snapshot& r) {
  json by_health;
  for (const path_health each : transport::path_healths)
    by_health[std::string(to_string(each))] = r.paths[static_cast<std::size_t>(each)];
  return {{"name", r.name},
          {"address", r.address},
          {"device", r.device},
          {"state", r.state},
          {"verdict", r.verdict.empty() ? json(nullptr) : json(r.verdict)},
          {"since_ms", milliseconds_json(r.age)},
          {"connections", r.connections},
          {"peers", r.peers},
          {"paths", std::move(by_health)},
          {"last_error", r.last_error.empty() ? json(nullptr) : json(r.last_error)}};
}

json path_json(const path_snapshot& p) {
  return {{"rail", p.rail},
          {"own_rail", p.own_rail},
          {"peer_rail", p.peer_rail},
          {"arrives_at", p.arrives_at},
          {"address", p.address},
          {"health", to_string(p.health)},
          {"since_ms", milliseconds_json(p.age)},
          {"why", p.why ? json(describe(p.why)) : json(nullptr)},
          {"lanes", {{"control", p.connected}, {"bulk", p.bulk_connected}}},
          {"carries", p.carries && p.connected},
          {"suspicions", p.suspicions},
          {"deaths", p.deaths},
          {"moves", p.moves},
          {"rail_verdict", p.rail_verdict.empty() ? json(nullptr) : json(p.rail_verdict)},
          {"proof_ms", milliseconds_json(p.proof)},
          {"next_try_ms", milliseconds_json(p.next_try)}};
}

std::vector<std::string> explain_paths(node_id self, node_id peer, const paths& all) {
  std::vector<std::string> said;
  if (all.size() == 1) {
    said.push_back(
        fmt::format("Node {} knows one path to node {}, so there is nothing to choose.", self, peer));
    said.push_back(sentence_about(all.front()));
    return said;
  }
  said.push_back(fmt::format("Node {} knows {} paths to node {}.", self, all.size(), peer));
  explain_messages(all, said);
  explain_bulk(all, said);
  explain_standby(all, said);
  return said;
}

}  // namespace scoll::detail
