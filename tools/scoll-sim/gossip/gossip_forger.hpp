#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/gossip/gossip_environment.hpp"
#include "tools/scoll-sim/gossip/gossip_lives.hpp"

namespace scoll::sim {

/// Sends messages in the name of hosts that are down, from the addresses of others. They are right in
/// everything but their source.
class gossip_forger {
 public:
  gossip_forger(gossip_environment& e, gossip_lives& lives) : environment_(e), lives_(lives) {}

  /// Sends a forgery if it is time for one and a host is down. Call it often.
  void forge();

 private:
  const gossip_life* draw_dead();
  gossip_life* draw_living();
  std::vector<std::byte> message_of(const gossip_life& dead, const gossip_life& to, std::uint64_t clock);

  gossip_environment& environment_;
  gossip_lives& lives_;
  nanoseconds next_{0};
  std::uint64_t sequence_ = std::uint64_t{1} << 32;  // later than all that the dead have sent
};

}  // namespace scoll::sim
