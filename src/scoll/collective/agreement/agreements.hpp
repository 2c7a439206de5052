#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "scoll/collective/agree.hpp"
#include "scoll/collective/agreement/instance.hpp"
#include "scoll/collective/agreement/service.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"

namespace scoll::detail {

/// The agreements of one node. Members talk in broadcasts of the library's service 3 over their group's tree;
/// any member may be their root.
///
/// ```text
///   agree(), shrink() ─► instance ─► driver: waits until it is this node's turn ─► proposes (propose.cpp)
///   request of a proposer ─► service ─► on_collect, on_accept, on_decided (votes.cpp)
/// ```
///
/// It is the turn of the lowest rank not held dead as soon as it has called. The others propose a while after
/// a proposer was lost, or was not heard for a second, in the order of their ranks.
class engine::agreements final {
 public:
  explicit agreements(engine& owner);
  agreements(const agreements&) = delete;
  agreements& operator=(const agreements&) = delete;

  /// The caller's side of `group::agree`.
  task<agreed_bytes> agree(addressees to, std::uint64_t number, std::vector<std::byte> value,
                           merge_values merge, agree_options options);

  /// The caller's side of `group::shrink`. Gives the group of the survivors.
  task<result<std::shared_ptr<group_state>>> shrink(addressees to, agree_options options);
  /// Holds the group of that id from now on if a shrink that this member has voted for creates it. A request
  /// that names the group shows that the vote was decided. Returns false if there is no such vote.
  bool hold_voted(const group_id& id);
  /// True if a group has been shrunk and some survivors may not know it yet.
  bool owes_shrink(const group_state& group) const noexcept;
  /// Tells all members of a group what its shrink has decided.
  task<void> tell_shrink(std::shared_ptr<group_state> group);

  // A member's side of a broadcast.
  task<agreement_answers> on_collect(std::shared_ptr<group_state> group, const agreement_request& request,
                                     bcast_context& context);
  agreement_answers on_accept(group_state& group, const agreement_request& request, std::uint32_t root);
  agreement_answers on_decided(group_state& group, const agreement_request& request, std::uint32_t root);
  /// Merges the values in a reply as far as this member knows their type, and drops those that do not fit.
  void condense(group_state& group, agreement_reply& reply) const;

  /// The node has heard that another one is dead, or alive.
  void verdict_on(node_id node);
  /// Ends the agreements of a group that has ended here.
  void end_group(const group_state& group, const error& why) noexcept;
  /// Ends all agreements; no further one begins.
  void stop() noexcept;

 private:
  using instance_ptr = std::shared_ptr<agreement_instance>;
  using table = instance_table<agreement_instance>;

  /// The answers of those that were asked, and who answered.
  struct gathered {
    bool asked = false;  ///< false: this node had no room to ask anybody
    agreement_answers answers;
    rank_set heard;
  };

  static group_agreements& of(group_state& group);
  /// Calls `visit(agreement_instance&)` for each instance of a group.
  template <class Visit>
  static void each(const group_state& group, Visit visit) {
    if (group.agreements == nullptr) return;
    group.agreements->agree.each(visit);
    if (group.agreements->shrink != nullptr) visit(*group.agreements->shrink);
  }
  static table::lookup open(group_state& group, agreement_space space, std::uint64_t number,
                            quorum_rule rule);
  static bool makes_sense(const group_state& group, agreement_space space, const proposal& what);
  instance_ptr open_for(group_state& group, const agreement_request& request, std::uint32_t root,
                        agreement_answers& refusal);
  error why_not(const addressees& to, const agree_options& options) const;
  result<instance_ptr> enter(group_state& group, agreement_space space, std::uint64_t number,
                             std::span<const std::byte> value, merge_values merge,
                             const agree_options& options);
  task<agreed_bytes> take_part(std::shared_ptr<group_state> group, instance_ptr i, agree_options options);
  agreed_bytes outcome_of(const group_state& group, const agreement_instance& i,
                          const error& otherwise) const;
  void learn(group_state& group, agreement_instance& i, const proposal& outcome);

  // Shrinks.
  void name_shrunk(const group_state& group, agreement_instance& i);
  void note_vote(const group_state& group, const agreement_instance& i);
  void hold_shrunk(const group_state& group, const proposal& decided);
  void settle(agreement_instance& i, std::uint64_t kept = 0);
  bool is_own(const proposal& decided) const noexcept;

  rank_set dead_in(const group_state& group) const;
  bool too_many_dead(const group_state& group, quorum_rule rule) const;
  time_point my_turn(const group_state& group, const agreement_instance& i) const;
  task<void> drive(std::shared_ptr<group_state> group, instance_ptr i);
  task<void> propose(std::shared_ptr<group_state> group, instance_ptr i);
  task<agreement_proposer::step> collect(std::shared_ptr<group_state> group, instance_ptr i, bool again);
  task<agreement_proposer::step> accept(std::shared_ptr<group_state> group, instance_ptr i, bool again);
  task<void> announce(std::shared_ptr<group_state> group, instance_ptr i);
  task<rank_set> tell(std::shared_ptr<group_state> group, instance_ptr i, rank_set whom, bool directly);
  task<gathered> ask(std::shared_ptr<group_state> group, const agreement_request& request, rank_set whom,
                     bool directly, time_point wait_until);
  task<void> pause(instance_ptr i, unsigned attempts);
  agreement_request request_for(const agreement_instance& i, agreement_kind kind) const;
  nanoseconds round_trip(const addressees& to, const tree_spec& tree) const;

  engine& owner_;
  agreement_service service_;
  std::shared_ptr<service_entry> entry_;
  std::map<group_id, group_id> voted_;  // groups that shrinks may create, and those that are shrunk
  bool stopped_ = false;
};

}  // namespace scoll::detail
