#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "gossip/participant.hpp"
#include "scoll/node.hpp"

namespace scoll {

/// Tells a node what its gossip finds out: construct it before the gossip runs, on the same
/// executor. The participant must run with the node's incarnation (`gossip::options::incarnation`). Both must
/// outlive it. Broadcasts of one's own wait for `gossip::active`.
class liveness_feed final : public gossip::event_listener {
 public:
  /// `nodes[i]` is the id of participant i; 0 for one that is no node.
  liveness_feed(node& to, gossip::participant& from, std::vector<node_id> nodes)
      : node_(to), nodes_(std::move(nodes)) {
    from.subscribe(*this);
  }

 private:
  void on_liveness(const gossip::liveness_event& e) noexcept override {
    const node_id who = e.who < nodes_.size() ? nodes_[e.who] : 0;
    if (who == 0) return;
    if (e.kind == gossip::event_kind::dead) {
      node_.on_dead(who, e.incarnation);
    } else {
      node_.on_alive(who, e.incarnation);
    }
  }

  node& node_;
  std::vector<node_id> nodes_;
};

}  // namespace scoll
