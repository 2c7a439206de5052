#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossip/event_queue.hpp"
#include "gossip/participant.hpp"
#include "objects.hpp"
#include "scoll/coro.hpp"
#include "scoll/follow.hpp"
#include "scoll/node.hpp"
#include "transport/io/udp_port.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace guide {

// [place]
/// One line of the cluster's configuration. Every server has the same list.
struct place {
  scoll::node_id id = 0;
  std::string address;  // TCP for messages, and UDP on the same port for gossip
};
// [place]

// [server]
/// A server of the guide from step 4 on: its objects, a node that serves them, and its gossip participant.
class server {
 public:
  server(scoll::transport::reactor& loop, const scoll::node_options& options, const std::string& address);

  /// Makes the other servers known and starts gossiping with them.
  void join(const std::vector<place>& cluster);
  /// Waits until this server takes part in the gossip. Broadcasts from this server wait for that by
  /// themselves.
  scoll::task<scoll::status> active() { return scoll::gossip::active(*participant_, work_.token()); }
  /// Leaves the gossip, then shuts the node down. The server may be destroyed afterwards.
  scoll::task<scoll::status> stop();

  place where() const { return {node_.id(), node_.listen_address()}; }
  scoll::node& node() noexcept { return node_; }
  object_map& objects() noexcept { return objects_; }
  scoll::gossip::participant& participant() noexcept { return *participant_; }
  scoll::node_id node_of(scoll::gossip::participant_index who) const { return follower_->node_of(who); }

 private:
  scoll::task<void> gossip();

  // Each member must outlive the members below it, because they refer to it.
  scoll::transport::reactor& loop_;
  object_map objects_;
  scoll::transport::tcp_rail rail_;
  scoll::node node_;
  scoll::transport::udp_port port_;
  std::optional<scoll::gossip::participant> participant_;
  std::optional<scoll::follower> follower_;
  scoll::scope work_;
};
// [server]

}  // namespace guide
