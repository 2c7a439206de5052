#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/gossip/gossip_environment.hpp"
#include "tools/scoll-sim/gossip/gossip_lives.hpp"

namespace scoll::sim {

/// Draws the faults of a swarm according to its weather, and carries them out when their time comes.
class gossip_faults {
 public:
  gossip_faults(gossip_environment& e, gossip_lives& lives);

  /// Schedules the first start of each host.
  void start_all();
  /// Draws all faults, from now until the end of the faults.
  void begin();
  /// Ends all faults and starts all hosts that are down.
  void heal();
  /// Pulls all cables of a host, for good.
  void cut_off(std::uint32_t host);

  /// Starts and crashes hosts whose time has come.
  void carry_out();
  /// Stalls one host for each stall whose time has come.
  void stall();
  /// The time of the next start or crash, but after now, and not after `latest`.
  nanoseconds next(nanoseconds latest) const;

  /// By host: the end of its latest isolation. 0 if there was none.
  std::span<const nanoseconds> isolated_until() const noexcept { return isolated_until_; }

 private:
  struct occasion {
    nanoseconds at;
    std::uint32_t host;
    bool boot;
  };

  void disturb_network();
  void draw_crash(nanoseconds at);
  nanoseconds draw_downtime();
  void stall_somebody();
  void isolate(std::uint32_t host);
  void partition();
  void block(std::uint32_t a, std::uint32_t b, nanoseconds until);
  void pull_cables();
  void heal_network();

  gossip_environment& environment_;
  gossip_lives& lives_;
  std::vector<occasion> occasions_;
  std::vector<nanoseconds> stalls_;
  std::vector<nanoseconds> isolated_until_;
  std::vector<nanoseconds> busy_until_;  // by host: it has crashed, or others may still notice that it had
};

}  // namespace scoll::sim
