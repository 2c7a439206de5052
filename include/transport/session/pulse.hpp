#pragma once

#include <cstdint>

#include "transport/session/greeting.hpp"

namespace scoll::transport {

/// Somebody who knows whether the gossip of this process goes on, and wants to hear of which peers it does.
/// An answered probe shows that a process runs; it does not show that it still takes part in the gossip.
class pulse_events {
 public:
  /// Grows while the gossip of this process goes on. 0: there is none.
  virtual std::uint32_t pulse() noexcept = 0;
  /// An incarnation of a peer has answered a probe, and its pulse has grown since an earlier answer.
  virtual void on_pulse(node_id peer, std::uint64_t incarnation) noexcept = 0;

 protected:
  ~pulse_events() = default;
};

}  // namespace scoll::transport
