#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gossip/participant.hpp"
#include "scoll/coro/scope.hpp"
#include "tools/scoll-sim/gossip/gossip_environment.hpp"
#include "tools/scoll-sim/gossip/gossip_timing.hpp"
#include "transport/sim/sim_datagram.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

struct gossip_life;

/// Receives every change that a life tells of, in order.
class gossip_change_listener {
 public:
  virtual void on_change(gossip_life& by, const gossip::liveness_event& e) = 0;

 protected:
  ~gossip_change_listener() = default;
};

/// One life of a host, with its participant.
struct gossip_life final : gossip::event_listener {
  /// The latest change about a host that the participant has told of.
  struct view {
    gossip::liveness state = gossip::liveness::unknown;
    std::uint64_t incarnation = 0;
  };

  /// Draws its clock and the participant's seed. The environment and the listener must outlive the life.
  gossip_life(gossip_environment& e, gossip_change_listener& l, std::uint32_t host);

  void begin();
  /// Runs the life to its end, where no participant hears it and nobody is told. False if it does not end.
  bool end();

  bool active() const noexcept { return member.stage() == gossip::participation::active; }
  bool dead() const noexcept { return died != gossip_forever; }
  std::string name() const;

  void on_liveness(const gossip::liveness_event& e) noexcept override;

  gossip_change_listener& listener;
  const std::uint32_t host;
  const nanoseconds born;
  const std::uint64_t incarnation;
  nanoseconds died = gossip_forever;
  nanoseconds stalled_until{0};  ///< the latest time at which it stood still
  bool ending = false;
  testing::sim_executor home;
  std::deque<testing::sim_datagram_port> ports;  ///< by rail
  gossip::participant member;
  stop_source stop;
  scope work;
  std::optional<status> ended;  ///< of `gossip::run`
  std::uint64_t epoch = 0;      ///< the number of changes so far
  std::vector<view> views;      ///< by host
};

}  // namespace scoll::sim
