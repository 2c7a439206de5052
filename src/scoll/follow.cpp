#include "scoll/follow.hpp"

#include <algorithm>
#include <utility>

#include "gossip/snapshot.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/doubts.hpp"
#include "scoll/journal.hpp"
#include "scoll/node_access.hpp"
#include "transport/session/pulse.hpp"

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

/// Passes on what the gossip says to the node, and what the node's connections say to the gossip.
class follower::feed final : public gossip::event_listener,
                             private transport::pulse_events,
                             private detail::doubts::judge {
 public:
  feed(detail::engine& to, gossip::participant& from, std::vector<node_id> nodes)
      : engine_(to),
        participant_(from),
        nodes_(std::move(nodes)),
        by_node_(by_node(nodes_)),
        doubts_(to.wire(), from.shared().interval(), *this) {
    engine_.holding().take();
    if (from.stage() != gossip::participation::active &&
        !SCOLL_MUTANT(stealth_not_held, "a node begins broadcasts before it takes part in the gossip"))
      engine_.holding().hold();
    from.subscribe(*this);
    engine_.wire().follow_pulse(this);
    for (gossip::participant_index who = 0; who < nodes_.size(); ++who) {
      const gossip::liveness state = from.state(who);
      if (who != from.self() && state != gossip::liveness::unknown)
        tell(who, state == gossip::liveness::dead, from.incarnation(who));
    }
  }
  ~feed() {
    engine_.wire().follow_pulse(nullptr);
    engine_.holding().leave();
  }

  node_id node_of(gossip::participant_index who) const noexcept {
    return who < nodes_.size() ? nodes_[who] : 0;
  }
  bool doubted(node_id peer) const noexcept { return doubts_.about(peer); }

 private:
  struct place {
    node_id node;
    gossip::participant_index who;
  };
  static std::vector<place> by_node(const std::vector<node_id>& nodes) {
    std::vector<place> places;
    for (gossip::participant_index who = 0; who < nodes.size(); ++who) {
      if (nodes[who] != 0) places.push_back({nodes[who], who});
    }
    std::ranges::sort(places, {}, &place::node);
    return places;
  }

  void tell(gossip::participant_index who, bool dead, std::uint64_t incarnation) noexcept {
    const node_id peer = nodes_[who];
    if (peer == 0) return;
    if (!dead) {
      doubts_.drop(peer, incarnation);
      return engine_.on_alive(peer, incarnation);
    }
    if (SCOLL_MUTANT(gossiped_death_unheard, "a death that the gossip tells does not reach the node")) return;
    if (!doubts_.ask(peer, incarnation)) engine_.on_dead(peer, incarnation);
  }
  void on_confirmed(node_id peer, std::uint64_t incarnation) noexcept override {
    engine_.on_dead(peer, incarnation);
  }

  std::uint32_t pulse() noexcept override {
    if (participant_.stage() != gossip::participation::active) return 0;
    return static_cast<std::uint32_t>(participant_.counts().cycles) + 1;
  }
  void on_pulse(node_id peer, std::uint64_t incarnation) noexcept override {
    const auto found = std::ranges::lower_bound(by_node_, peer, {}, &place::node);
    if (found == by_node_.end() || found->node != peer) return;
    doubts_.drop(peer, incarnation);
    participant_.heard(participant_.shared().id(found->who), incarnation);
  }

  void on_liveness(const gossip::liveness_event& e) noexcept override {
    tell(e.who, e.kind == gossip::event_kind::dead, e.incarnation);
  }
  void on_disagreement(const gossip::disagreement& d) noexcept override {
    const bool stranger = d.who >= nodes_.size();
    engine_.events().gossip_disagrees(stranger ? 0 : nodes_[d.who],
                                      stranger ? std::string_view("an address that is not listed here")
                                               : participant_.shared().address(d.who),
                                      gossip::to_string(d.what));
  }
  void on_stage(gossip::participation now) noexcept override {
    detail::start_hold& hold = engine_.holding();
    if (hold.open()) return;
    if (now == gossip::participation::active) hold.release();
    if (now == gossip::participation::stopped)
      hold.refuse({errc::closed, "the gossip of this node ended before it took part"});
  }

  detail::engine& engine_;
  gossip::participant& participant_;
  std::vector<node_id> nodes_;
  std::vector<place> by_node_;
  detail::doubts doubts_;
};

follower::follower(std::unique_ptr<feed> made) noexcept : feed_(std::move(made)) {}
follower::follower(follower&&) noexcept = default;
follower& follower::operator=(follower&&) noexcept = default;
follower::~follower() = default;

bool follower::doubts_death_of(node_id peer) const noexcept {
  return feed_->doubted(peer);
}

node_id follower::node_of(gossip::participant_index who) const noexcept {
  return feed_->node_of(who);
}

result<follower> follower::bind(node& self, gossip::participant& from, std::vector<node_id> ids) {
  if (const status good = check(self, from, ids); !good) return good.error();
  detail::engine& to = detail::node_access::engine(self);
  if (to.holding().taken()) return error(errc::already_exists, "the node follows a participant already");
  return follower(std::make_unique<feed>(to, from, std::move(ids)));
}

result<follower> follow(node& self, gossip::participant& from, const std::vector<gossip_address>& nodes) {
  auto ids = ids_of(from.shared(), nodes);
  if (!ids) return ids.error();
  return follower::bind(self, from, std::move(*ids));
}

result<follower> follow(node& self, gossip::participant& from) {
  std::vector<node_id> ids;
  for (gossip::participant_index who = 0; who < from.shared().size(); ++who)
    ids.push_back(from.shared().id(who));
  return follower::bind(self, from, std::move(ids));
}

}  // namespace scoll
