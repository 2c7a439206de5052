#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossip/participant.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/follow.hpp"
#include "scoll/node.hpp"
#include "scoll/ship/call_limit.hpp"
#include "tools/scoll-sim/cluster/bulk_strangers.hpp"
#include "transport/session/named_rails.hpp"
#include "transport/session/rails/rail_set.hpp"
#include "transport/sim/sim_datagram.hpp"
#include "transport/sim/sim_disk.hpp"
#include "transport/sim/sim_file_system.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// A request that must be refused, as the exchange that waits for its reply.
struct stray_request final : transport::exchange {
  explicit stray_request(std::uint64_t* refusals) noexcept : exchange(&on_reply), refusals_(refusals) {}

 private:
  static void on_reply(transport::exchange& self, transport::reply_event& event) noexcept {
    if (event.refused) ++*static_cast<stray_request&>(self).refusals_;
  }
  std::uint64_t* refusals_;
};

/// The networks of a cluster. Bulk data has one of its own in some runs.
struct networks {
  testing::sim_network& messages;
  testing::sim_network* bulk = nullptr;
  testing::sim_datagrams* datagrams = nullptr;  ///< in runs with a gossip
  std::uint32_t rails = 1;                      ///< of every host, on the network of messages
};

/// The address of a rail of a host, as a number of the network.
constexpr std::uint32_t place_on_rail(std::uint32_t host, std::uint32_t rail, std::uint32_t hosts) noexcept {
  return rail * hosts + host;
}

/// One life of a host, from its boot to its crash or to the end of the run.
struct life {
  life(testing::sim_world& world, const networks& via, testing::sim_disk& disk, std::uint32_t index,
       testing::sim_clock clock);
  ~life();

  /// Makes its node, on all its rails.
  void make_node(const node_options& options);
  /// Where its own node listens; empty if its rails say so.
  std::string listening_place() const;
  std::vector<std::string> addresses_of(std::uint32_t other) const;
  std::vector<transport::datagram_port*> gossip_ports();

  void crash(testing::sim_crash how);
  /// Breaks all connections of a crashed life.
  void break_all();
  /// Destroys the node and what belongs to it.
  void clear();
  bool follows_gossip() const noexcept { return participant != nullptr; }

  std::uint32_t host;
  std::uint64_t number = 0;       ///< among all lives of the run
  std::uint64_t incarnation = 0;  ///< once it has started
  nanoseconds started{0};         ///< when it began, in the world's time
  testing::sim_executor home;
  std::uint32_t hosts;                  ///< of the world
  std::deque<testing::sim_rail> rails;  ///< for messages: one, or several
  transport::rail_set all_rails;        ///< if they are several
  std::optional<testing::sim_rail> bulk_rail;
  transport::named_rails both_rails{transport::bulk_use::only};
  std::deque<testing::sim_datagram_port> ports;  ///< by rail, in runs with a gossip
  std::optional<testing::sim_file_system> files;
  std::deque<stray_request> strays;
  std::deque<false_open> false_opens;
  std::deque<false_order> false_orders;
  std::unique_ptr<node> member;                      ///< once it has started
  std::unique_ptr<gossip::participant> participant;  ///< in runs with a gossip
  std::shared_ptr<gossip::event_listener> witness;   ///< notes what the gossip tells
  std::optional<follower> bond;
  stop_source gossip_stop;
  static constexpr std::size_t places_at_most = 3;
  call_limit places{places_at_most};  ///< limits some of its calls
  scope work;                         ///< the start, and the creations and broadcasts that began here
  std::optional<status> ended;
  bool crashed = false;
  nanoseconds view_changed{0};       ///< when it last heard of a death or a return, in the world's time
  bool died_in_stealth = false;      ///< before its participant took part in the gossip
  std::vector<std::uint64_t> heard;  ///< the latest life of each host that this life has heard of
};

}  // namespace scoll::sim
