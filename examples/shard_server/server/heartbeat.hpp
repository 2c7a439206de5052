#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "../cluster/cluster_file.hpp"
#include "gossip/aead_seal.hpp"
#include "gossip/participant.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/follow.hpp"
#include "scoll/node.hpp"
#include "scoll/rail_entry.hpp"
#include "tools/common/gossip_port.hpp"
#include "transport/io/reactor.hpp"

namespace shard {

/// This server's participant in the cluster's gossip, on each of its rails: by RDMA if the links of the rail go by
/// RDMA, and otherwise by UDP, on the port numbers that the links use over TCP. It reports each change to the node
/// and to the log.
class heartbeat final : private scoll::gossip::event_listener {
 public:
  /// With a security mode, the messages are sealed by its ring. `rdma` may be without devices if no own
  /// address begins with verbs://; they must outlive this. Throws `scoll::failure` for addresses, an
  /// interval or a ring that cannot be used.
  heartbeat(scoll::transport::reactor& loop, const cluster_config& config, scoll::node& node,
            const std::vector<scoll::rail_entry>& rails, const scoll::transport::security_options& security,
            const scoll::kit::gossip_rdma& rdma);

  /// Runs until it is stopped, which counts as success. It opens the RDMA devices first, which may block for some
  /// milliseconds.
  scoll::task<scoll::status> run(scoll::stop_token stop);

  /// Waits until this server takes part; it first listens for a while after its start. Errors: `closed` (it
  /// is stopping), `cancelled`.
  scoll::task<scoll::status> active(scoll::stop_token stop);

  /// Calls `news` whenever a server has become alive or dead.
  void on_change(std::function<void()> news) { news_ = std::move(news); }

  /// Returns the ids of servers by state, and the counters behind them.
  nlohmann::json to_json() const;

 private:
  heartbeat(scoll::transport::reactor& loop, const cluster_config& config,
            const scoll::gossip::configuration_ptr& shared, scoll::node& node,
            const std::vector<scoll::rail_entry>& rails, const scoll::transport::security_options& security,
            const scoll::kit::gossip_rdma& rdma);
  void on_liveness(const scoll::gossip::liveness_event& e) noexcept override;

  std::vector<std::unique_ptr<scoll::kit::gossip_port>> ports_;  // one for each address of this server
  std::optional<scoll::gossip::aead_seal> seal_;
  scoll::gossip::participant participant_;
  scoll::follower follower_;
  std::function<void()> news_;
};

}  // namespace shard
