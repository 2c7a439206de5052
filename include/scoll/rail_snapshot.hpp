#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scoll/coro/error.hpp"
#include "scoll/coro/time.hpp"
#include "transport/session/rails/path.hpp"

namespace scoll {

/// One of the ways from a node to a peer: a rail of the node, and an address of the peer.
struct path_snapshot {
  std::size_t own_rail = 0;    ///< the place of the rail in the node's list
  std::string rail;            ///< its name; empty if the node was made of a rail and no set
  std::size_t peer_rail = 0;   ///< the place of the address in the peer's list
  std::size_t arrives_at = 0;  ///< the peer's rail at which connections arrive: another one if crossed
  std::string address;         ///< empty if only the peer knows it
  transport::path_health health{};
  std::optional<nanoseconds> age;  ///< since the health last changed, if it has
  error why;                       ///< why it was last suspected or given up, or could not connect
  bool connected = false;          ///< it has a connection for all classes but bulk
  bool bulk_connected = false;
  bool carries = false;       ///< messages of all classes but bulk go by it, or would go by it first
  bool carries_bulk = false;  ///< the same of class bulk
  std::uint64_t suspicions = 0, deaths = 0;
  std::uint64_t moves = 0;  ///< how often messages have left it for another path
  nanoseconds proof{0};  ///< how long it must answer after trouble before it is good again; 0: no trouble yet
  std::optional<nanoseconds> next_try;  ///< until the next attempt to connect, if one is due
  std::string rail_verdict;             ///< `rail_snapshot::verdict` of the rail
};

/// One of a node's own rails.
struct rail_snapshot {
  std::string name;     ///< empty if the node was made of a rail and no set
  std::string address;  ///< by which peers reach it, as far as it is known
  std::string device;   ///< empty: the kernel chooses
  /// "dead" if several peers have lost it at once while they answer over other rails; "up" if a path by it is
  /// connected; "down" if paths by it have failed and none is connected; else "idle".
  std::string_view state;
  std::string verdict;             ///< why it is dead, such as "lost by 3 peers within 1 s"; else empty
  std::optional<nanoseconds> age;  ///< since the state began, if paths show it
  std::size_t connections = 0;     ///< open, being made or being closed
  std::size_t peers = 0;           ///< peers that are connected by it
  std::array<std::size_t, transport::path_healths.size()> paths{};  ///< paths by it, by health
  std::string last_error;  ///< of the path by it whose health changed last among those that had trouble
};

/// Why a rail is dead that so many peers have lost.
std::string rail_verdict(std::size_t peers);

}  // namespace scoll
