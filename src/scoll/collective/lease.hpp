#pragma once

#include <memory>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::detail {

/// Watches a group that another node created and that has not been used yet. If the creation failed and that
/// news was lost, the creator does not know the group any more, because a failed creation leaves no state
/// anywhere.
class engine::lease final : public timer_node, public transport::exchange {
 public:
  lease(engine& owner, std::shared_ptr<group_state> group)
      : timer_node(&fire), exchange(&on_answer), owner_(owner), group_(std::move(group)) {
    arm();
  }
  ~lease() {
    if (armed()) owner_.executor_.disarm(*this);
    if (pending()) cancel();
  }

 private:
  static constexpr int attempts = 3;

  void arm() noexcept {
    owner_.executor_.arm(*this, owner_.executor_.now() + owner_.options_.creation_lease);
  }

  static void fire(timer_node& node) noexcept { static_cast<lease&>(node).ask(); }

  void ask() noexcept {
    if (pending()) cancel();
    if (SCOLL_MUTANT(used_group_expires, "a group is dropped when its lease ends, used or not"))
      return owner_.drop_group(group_id(group_->id));
    if (!group_->tentative) return owner_.end_lease(group_->id, false);
    transport::session* creator = owner_.endpoint_.find(group_->id.creator);
    if (creator == nullptr || ++asked_ > attempts) return owner_.end_lease(group_->id, true);
    collective_head head;
    head.kind = static_cast<std::uint8_t>(collective_kind::query);
    head.group = group_->id;
    transport::message& m = owner_.endpoint_.acquire_message();
    m.set_head_bytes(*wire::encode_to(m.head_space(), head));
    m.copy_payload({}, wire::checksum({}));
    arm();
    creator->request(*this, transport::traffic_class::urgent, m, 0).ignore();
  }

  static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept {
    auto& l = static_cast<lease&>(self);
    if (event.outcome) return l.owner_.end_lease(l.group_->id, false);
    if (event.outcome.error() == errc::unknown_group || event.outcome.error() == errc::peer_rebooted) {
      const bool kept = SCOLL_MUTANT(failed_creation_kept,
                                     "a member keeps a group that its creator does not know any more");
      return l.owner_.end_lease(l.group_->id, !kept);
    }
    if (event.outcome.error() == errc::busy) l.asked_ = 0;
    // The creator was not reached: the timer asks again, a few times.
  }

  engine& owner_;
  std::shared_ptr<group_state> group_;
  int asked_ = 0;
};

}  // namespace scoll::detail
