#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/counter_ranges.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/sweep_schedule.hpp"
#include "scoll/coro/member_timer.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// Asks other nodes, now and then, whether the groups that this node holds still exist, and answers such
/// questions. It finds every end of a group whose news was lost.
///
/// A question names the counters of the groups that this node holds of one creator's life; the answer names
/// those that have ended. The creator of a group knows for certain. Groups that outlive their creator are
/// asked about at another member each time as well; members know only of the ends that they have heard of.
class engine::sweeper final {
 public:
  sweeper(engine& owner, nanoseconds lease);
  ~sweeper() { stop(); }
  sweeper(const sweeper&) = delete;
  sweeper& operator=(const sweeper&) = delete;

  /// Asks about a group from now on, as long as this node holds it.
  void watch(const group_state& group);
  /// Stops asking. No question is under way when this returns.
  void stop() noexcept;
  /// Answers the question of another node, or gives the reason why not.
  error answer(transport::request_view& request, const collective_head& head);

 private:
  struct question final : transport::exchange {
    question() noexcept : exchange(&on_answer) {}
    sweeper* owner = nullptr;
    creator_life of;
    node_id asked = 0;
    counter_ranges about;
  };
  using held_groups = std::vector<std::shared_ptr<group_state>>;

  static void on_answer(transport::exchange& self, transport::reply_event& event) noexcept;
  void on_timer() noexcept;
  void ask(const creator_life& of);
  void ask_one(const creator_life& of, node_id node, const counter_ranges& about);
  void take_back(const creator_life& of) noexcept;
  void send(question& q);
  void hear(const question& q, std::span<const std::byte> said);
  void drop_hopeless(const creator_life& of);
  void drop_of_creator(const creator_life& of);
  template <class Which>
  void drop(const held_groups& groups, Which&& which);
  node_id next_member(const creator_life& of, const held_groups& groups) const;
  held_groups held_of(const creator_life& of) const;
  counter_ranges gone_of(const creator_life& of, const counter_ranges& asked) const;
  bool fill(transport::message& m, std::span<const std::byte> bytes) const;
  void rearm() noexcept;

  engine& owner_;
  sweep_schedule schedule_;
  std::map<std::pair<creator_life, bool>, std::unique_ptr<question>> questions_;  // true: to the creator
  member_timer<&sweeper::on_timer> timer_{*this};
};

}  // namespace scoll::detail
