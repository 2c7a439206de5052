#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "../cluster/cluster_file.hpp"
#include "gossip/participant.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/follow.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"
#include "transport/io/udp_port.hpp"

namespace shard {

/// This server's part in the cluster's gossip, over UDP on the port numbers that its links have over TCP.
/// What it finds out it tells the node, and the log.
class heartbeat final : private scoll::gossip::event_listener {
 public:
  /// Throws `scoll::failure` for addresses or an interval that cannot be used.
  heartbeat(scoll::transport::reactor& loop, const cluster_config& config, scoll::node& node);

  /// Until it is stopped, which is success.
  scoll::task<scoll::status> run(scoll::stop_token stop);

  /// Until this server takes part, having listened for a while after its start. Errors: `closed` (it
  /// stops), `cancelled`.
  scoll::task<scoll::status> active(scoll::stop_token stop);

  /// Ids of servers by state, and the numbers behind them.
  nlohmann::json to_json() const;

 private:
  void on_liveness(const scoll::gossip::liveness_event& e) noexcept override;

  scoll::transport::udp_port port_;
  scoll::gossip::participant participant_;
  scoll::follower follower_;
};

}  // namespace shard
