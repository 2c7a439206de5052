#include "scoll/follow.hpp"

#include <algorithm>
#include <utility>

#include "gossip/snapshot.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/node_access.hpp"

namespace scoll {
namespace {

/// The node id of each participant; 0 for one that stands for no node.
result<std::vector<node_id>> ids_of(const gossip::configuration& shared,
                                    const std::vector<gossip_address>& nodes) {
  std::vector<node_id> ids(shared.size());
  for (const gossip_address& each : nodes) {
    const auto index = shared.index_of(each.address);
    if (each.node == 0)
      return make_error(errc::invalid_argument, "0 is not a valid node id, but is given to {}", each.address);
    if (!index)
      return make_error(errc::invalid_argument, "{} is not a participant of the gossip", each.address);
    if (ids[*index] != 0) return make_error(errc::duplicate_target, "{} is listed twice", each.address);
    if (std::find(ids.begin(), ids.end(), each.node) != ids.end())
      return make_error(errc::duplicate_target, "node {} is listed twice", each.node);
    ids[*index] = each.node;
  }
  return ids;
}

status check(const node& self, const gossip::participant& from, const std::vector<node_id>& ids) {
  if (from.own_incarnation() != self.incarnation())
    return make_error(errc::invalid_argument, "the participant's incarnation {} is not the node's, {}",
                      from.own_incarnation(), self.incarnation());
  if (&from.get_executor() != &self.get_executor())
    return error(errc::invalid_argument, "the participant runs on another executor than the node");
  if (from.self() >= ids.size() || ids[from.self()] != self.id())
    return make_error(errc::invalid_argument, "the participant's own address is not listed with node {}",
                      self.id());
  if (from.stage() == gossip::participation::stopped) return error(errc::closed, "the participant has ended");
  return {};
}

}  // namespace

class follower::feed final : public gossip::event_listener {
 public:
  feed(detail::engine& to, gossip::participant& from, std::vector<node_id> nodes)
      : engine_(to), nodes_(std::move(nodes)) {
    engine_.holding().take();
    if (from.stage() != gossip::participation::active &&
        !SCOLL_MUTANT(stealth_not_held, "a node begins broadcasts before it takes part in the gossip"))
      engine_.holding().hold();
    from.subscribe(*this);
    for (gossip::participant_index who = 0; who < nodes_.size(); ++who) {
      const gossip::liveness state = from.state(who);
      if (who != from.self() && state != gossip::liveness::unknown)
        tell(who, state == gossip::liveness::dead, from.incarnation(who));
    }
  }
  ~feed() { engine_.holding().leave(); }

  node_id node_of(gossip::participant_index who) const noexcept {
    return who < nodes_.size() ? nodes_[who] : 0;
  }

 private:
  void tell(gossip::participant_index who, bool dead, std::uint64_t incarnation) noexcept {
    if (nodes_[who] == 0) return;
    if (dead) {
      if (SCOLL_MUTANT(gossiped_death_unheard, "a death that the gossip tells does not reach the node"))
        return;
      engine_.on_dead(nodes_[who], incarnation);
    } else {
      engine_.on_alive(nodes_[who], incarnation);
    }
  }
  void on_liveness(const gossip::liveness_event& e) noexcept override {
    tell(e.who, e.kind == gossip::event_kind::dead, e.incarnation);
  }
  void on_stage(gossip::participation now) noexcept override {
    detail::start_hold& hold = engine_.holding();
    if (hold.open()) return;
    if (now == gossip::participation::active) hold.release();
    if (now == gossip::participation::stopped)
      hold.refuse({errc::closed, "the gossip of this node ended before it took part"});
  }

  detail::engine& engine_;
  std::vector<node_id> nodes_;
};

follower::follower(std::unique_ptr<feed> made) noexcept : feed_(std::move(made)) {}
follower::follower(follower&&) noexcept = default;
follower& follower::operator=(follower&&) noexcept = default;
follower::~follower() = default;

node_id follower::node_of(gossip::participant_index who) const noexcept {
  return feed_->node_of(who);
}

result<follower> follow(node& self, gossip::participant& from, const std::vector<gossip_address>& nodes) {
  auto ids = ids_of(from.shared(), nodes);
  if (!ids) return ids.error();
  if (const status good = check(self, from, *ids); !good) return good.error();
  detail::engine& to = detail::node_access::engine(self);
  if (to.holding().taken()) return error(errc::already_exists, "the node follows a participant already");
  return follower(std::make_unique<follower::feed>(to, from, std::move(*ids)));
}

}  // namespace scoll
