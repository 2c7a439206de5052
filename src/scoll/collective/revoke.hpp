#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/revocation.hpp"
#include "scoll/collective/revoke_report.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/task.hpp"

namespace scoll::detail {

/// The revokes that this node has made or heard of. Each member that hears of one for the first time ends
/// what it covers, and passes the notice on to its children in the initiator's tree and to its neighbours in
/// the graph of the group, so that it reaches all living members although no answers are awaited.
class revoker final {
 public:
  explicit revoker(engine& owner) noexcept : owner_(owner) {}
  ~revoker() { stop(); }
  revoker(const revoker&) = delete;
  revoker& operator=(const revoker&) = delete;

  /// A notice by this node, without reason and text.
  notice_head notice_of(const group_state& group, notice_kind kind) const noexcept;
  /// Revokes a group that this node holds. It waits until each member that this node tells has its notice or
  /// cannot be reached, and for `node_options::revoke_emission` at most.
  task<result<revoke_report>> revoke(std::shared_ptr<group_state> group, notice_head notice);

  /// Tells the members of a group that outlives its creator that the group has ended. It does not wait.
  void announce_end(const std::shared_ptr<group_state>& group);

  /// The group that a notice has told of and that this node does not hold, once its members are known. Null
  /// otherwise.
  std::shared_ptr<group_state> told_of(const group_id& group) const;

  /// Takes a notice. Returns false if it makes no sense here.
  bool hear(transport::session& from, std::span<const std::byte> bytes);
  /// Takes the error with which a member has refused or ended a request of this node because the group is
  /// revoked there. That is as good as a notice, and is passed on like one.
  void hear_refusal(const std::shared_ptr<group_state>& group, const error& why, node_id from);
  /// Tells a node of a revoke. A request of that node, or an answer that it awaits, shows that it has not
  /// heard.
  void tell(const group_id& group, transport::session& peer);
  /// Takes a group that was revoked before its members were known here, and tells the members. Every way of
  /// learning the members of such a group ends here.
  void members_known(const std::shared_ptr<group_state>& group);
  /// Takes a group of survivors that this node holds from now on. It may have been revoked before.
  void held(const std::shared_ptr<group_state>& group);

  // News of other nodes. This node then sends the notices that it owes them.
  void met(transport::session& peer);
  void returned(node_id node);

  /// The error with which requests for a group are refused if it was revoked before its creation came; empty
  /// if it was not.
  error refusal_of_unknown(const group_id& group) const noexcept;
  /// The error with which the program cannot hold such a group, as long as this node passes the revoke on. After
  /// that the program may hold the group again, and this node forgets the revoke.
  error why_not_held(const group_id& group);
  /// Drops a revoked out-of-band group that was named by a hook, and that nothing uses any more. For requests
  /// of others it stays revoked. Returns false if there is none.
  bool make_room_in_cache();
  /// The ending of a revoked group, for its tombstone.
  group_ending ending_of(const group_id& group) const noexcept;
  /// Takes the news that this node does not hold the group any more.
  void dropped(const group_id& group) noexcept;
  /// Stops sending notices.
  void stop() noexcept;

 private:
  using shared = std::shared_ptr<revocation>;
  using key = std::pair<group_id, notice_kind>;

  /// True if that node may send the notice, and the initiator has the rank that the notice gives.
  static bool fits(const notice_head& notice, const group_state& group, node_id sender);
  shared make_news(const notice_head& notice);
  shared find(const group_id& group, notice_kind kind) const;
  void begin(const std::shared_ptr<group_state>& group, const notice_head& notice, node_id sender);
  void end_by_notice(const std::shared_ptr<group_state>& group, const notice_head& notice, node_id sender);
  void hear_of_unknown(const notice_head& notice, node_id sender);
  void ask_for_members(const shared& news);
  task<void> find_members(shared news);
  void spread(revocation& news, node_id sender);
  void spread_rest() noexcept;
  bool pump(revocation& news);
  void pump_or_wait(revocation& news);
  bool send(revocation& news, node_id node);
  void owe(revocation& news, node_id node);
  void on_progress(member_notice& notice, transport::notice_state state);
  void continue_stalled();
  void continue_behind(node_id member);
  void leave(revocation& news) noexcept;
  static void give_up(revocation& news) noexcept;
  static bool is_done(const revocation& news) noexcept;
  void forget_if_done(revocation& news) noexcept;
  void erase(const key& which) noexcept;
  void make_room_for_unknown();

  engine& owner_;
  std::map<key, shared> all_;
  std::size_t leaving_ = 0;                    // those in `all_` whose group is not held here any more
  std::deque<group_id> unknown_;               // those that are not held here, the oldest first
  std::map<node_id, std::deque<key>> behind_;  // those that wait behind other notices to a member, in order
  std::vector<key> spreading_;  // those whose neighbours in the graph are to be told in this turn
  member_node<&revoker::spread_rest> rest_{*this};
  std::deque<key> stalled_;  // those that wait for room among the notices of this node, in order
};

}  // namespace scoll::detail
