#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gossip/participant.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/node.hpp"

namespace scoll {

/// Names the node of one participant of the gossip.
struct gossip_address {
  node_id node = 0;
  /// The address of its participant, as the configuration spells it.
  std::string address;
};

/// The bond that `follow` makes. It lasts until this object is destroyed.
class [[nodiscard]] follower {
 public:
  follower(follower&&) noexcept;
  follower& operator=(follower&&) noexcept;
  ~follower();

  /// The node of a participant; 0 if the participant was not listed.
  node_id node_of(gossip::participant_index who) const noexcept;
  /// True while the gossip holds a node to be dead that this node is connected with, and that is still asked.
  bool doubts_death_of(node_id peer) const noexcept;

 private:
  class feed;
  friend result<follower> follow(node&, gossip::participant&, const std::vector<gossip_address>&);
  friend result<follower> follow(node&, gossip::participant&);
  static result<follower> bind(node& self, gossip::participant& from, std::vector<node_id> ids);
  explicit follower(std::unique_ptr<feed> made) noexcept;

  std::unique_ptr<feed> feed_;
};

/// Lets a node follow its gossip: what the participant finds out about others reaches the node as `on_dead`
/// and `on_alive`, beginning with what it knows now. Until the participant is active, the node holds its own
/// broadcasts, and the creation and destruction of groups: they send nothing and wait. A held broadcast
/// starts when the participant becomes active, with what is left of its deadline. It ends without having been
/// sent at its deadline (`deadline_exceeded`), by its stop token (`cancelled`), at the node's shutdown
/// (`closed`), or if the participant ends before it was active (`closed`, and so do later ones). Requests
/// from other members and shipped calls are not held.
///
/// A verdict on a node that this one is connected with is not believed at once: that node is asked over all
/// its connections, and has two gossip intervals to answer that its own gossip goes on. Answers of that kind
/// also reach the participant, as `participant::heard`, so that datagrams that are lost where connections get
/// through make no death. That a session is lost is no news to the gossip.
///
/// `nodes` lists the node of each participant, including this one, in any order. A participant that is not
/// listed stands for no node, and news about it is not passed on.
///
/// Errors: `invalid_argument` (the participant's incarnation is not the node's, it runs on another executor,
/// an address is not in its configuration, its own address is not listed as this node's, a node has the id
/// 0), `duplicate_target` (an address or a node is listed twice), `already_exists` (the node follows a
/// participant already), `closed` (the participant has ended).
///
/// The node and the participant must outlive the result; the node may be moved. Destroying the result ends
/// the hold. Call it on their executor's thread, before or after the participant has been started.
result<follower> follow(node& self, gossip::participant& from, const std::vector<gossip_address>& nodes);

/// Likewise, if the ids of the participants are those of their nodes.
result<follower> follow(node& self, gossip::participant& from);

}  // namespace scoll
