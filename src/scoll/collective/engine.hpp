#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/creation_statement.hpp"
#include "scoll/collective/group_state.hpp"
#include "scoll/collective/group_table.hpp"
#include "scoll/collective/kept_windows.hpp"
#include "scoll/collective/known_lives.hpp"
#include "scoll/collective/mapped_groups.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/reply_memory.hpp"
#include "scoll/collective/revoke_report.hpp"
#include "scoll/collective/start_hold.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/worker_pool.hpp"
#include "scoll/detail/addressees.hpp"
#include "scoll/detail/service_entry.hpp"
#include "scoll/detail/service_table.hpp"
#include "scoll/ids.hpp"
#include "scoll/node_options.hpp"
#include "scoll/node_pools.hpp"
#include "scoll/node_snapshot.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::detail {

class engine;
class admission_request;
class journal;
class broadcast_repair;
class operation;
class own_records;
class revoker;
struct forget_request;
struct own_part;
struct resolution;

/// The collectives of one node: services, groups, and a bounded table of operations ("Admission"). It is
/// single-threaded.
class engine final : private transport::endpoint_events {
 public:
  /// `Rails` is a `transport::rail` or a `const transport::rail_set`. Without `pools` it has its own pools.
  template <class Rails>
  engine(executor& ex, Rails& rails, const node_options& options, std::shared_ptr<node_pools> pools);
  ~engine();

  transport::endpoint& wire() noexcept { return endpoint_; }
  executor& get_executor() const noexcept { return executor_; }
  const node_options& options() const noexcept { return options_; }
  /// The pool of worker threads, which start when the first hook needs them.
  worker_pool& pool();
  bool has_pool() const noexcept { return pool_ != nullptr; }
  const collective_statistics& statistics() const noexcept { return statistics_; }
  std::size_t operations() const noexcept { return live_operations_; }
  std::vector<operation_snapshot> describe_operations(std::size_t first, std::size_t most) const;
  journal& events() noexcept { return *journal_; }
  std::size_t groups() const noexcept { return groups_.size(); }
  const reply_memory& memory_for_parts() const noexcept { return reply_memory_; }
  const own_records& records() const noexcept { return *records_; }
  /// The number of requests that wait until their group is known.
  std::size_t admissions_waiting() const noexcept;
  /// The time by which the first of them ends; `never` if there is none.
  time_point admissions_due() const noexcept;
  /// The number of groups that were destroyed here and of which some members that live have not been told.
  std::size_t groups_ending() const noexcept;

  // Services.
  status add_service(std::shared_ptr<service_entry> entry);
  /// Adds a service of the library, with an id below those of users.
  status add_own_service(std::shared_ptr<service_entry> entry);
  task<void> close_service(std::shared_ptr<service_entry> entry);
  task<status> close_service(std::shared_ptr<service_entry> entry, nanoseconds limit);
  std::shared_ptr<service_entry> find_service(service_id id) const;

  // Groups.
  task<result<std::shared_ptr<group_state>>> create_group(membership_ptr members, service_id service,
                                                          group_options options);
  /// Makes a group known on this node alone, under an id of its service; nothing is sent. Every message has
  /// the membership's digest, and a member that holds another one answers `membership_changed`.
  result<std::shared_ptr<group_state>> adopt_group(membership_ptr members, service_id service,
                                                   std::uint64_t id, const group_options& options);
  /// Holds the group whose members the `members` hook of a service names, as `node::out_of_band` says.
  task<result<std::shared_ptr<group_state>>> map_group(service_id service, std::uint64_t id,
                                                       group_options options);
  /// Finds the members of a group that this node does not hold, nor will: a hook names those of an out-of-band
  /// group, else `member` is asked, which holds it. Errors: the hook's, `membership_changed` (it names others),
  /// the member's (`unknown_group`, `not_member`, `busy`), `unreachable`, `deadline_exceeded`, `malformed`, `closed`.
  task<result<membership_ptr>> find_members(group_id group, service_id service, node_id member);
  /// Makes a group of the same members that all of them hold, as `group::settle` says.
  task<result<std::shared_ptr<group_state>>> settle_group(std::shared_ptr<group_state> group,
                                                          group_options options);
  /// Ends a group here at once and at the other members as `node::destroy` says.
  task<status> destroy_group(std::shared_ptr<group_state> group);
  /// Revokes a group, as `group::revoke` says. `text` is cut.
  task<result<revoke_report>> revoke_group(std::shared_ptr<group_state> group, std::uint32_t reason,
                                           std::string_view text);
  /// The group of that id. Null if this node does not hold it, or has ended it.
  std::shared_ptr<group_state> find_group(const group_id& id) const;
  /// Calls `visit(const group_state&)` for the groups from the id `first` on, as `group_table::each` does.
  template <class Visitor>
  void each_group(Visitor&& visit, const group_id& first = {}) const {
    groups_.each(visit, first);
  }

  /// Makes a broadcast and encodes its request at once. `operation::start` starts it; `release` returns it.
  begun begin_broadcast(const addressees& to, const service_table& table, const void* request,
                        const bcast_options& options);
  void release(operation& op) noexcept;
  /// Why such a broadcast cannot begin now, as far as it lies in the node, the group or its members.
  error why_not_now(const addressees& to, const bcast_options& options,
                    collective_kind kind = collective_kind::broadcast) const;
  /// The hold that keeps broadcasts and the creation of groups from starting here.
  start_hold& holding() noexcept { return hold_; }
  /// Starts background work that runs until the node ends at the latest.
  void spawn(task<void> work) { scope_->spawn(std::move(work)); }
  /// The outcome of a broadcast that was refused before anything was sent.
  outcome nothing_sent(const addressees& to, const error& why) const;

  // Liveness.
  /// Reports that an incarnation of a node is dead, or lives; a newer one replaces those before it.
  /// Everything that a dead node owed ends at once, and its operations and groups here are removed.
  void on_dead(node_id node, std::uint64_t incarnation);
  void on_alive(node_id node, std::uint64_t incarnation);
  const known_lives& lives() const noexcept { return lives_; }
  /// The members of `among` that are not known to be dead. This node counts as alive.
  rank_set living(const group_state& group, const rank_set& among) const;

  /// The agreements of this node's groups.
  class agreements;
  agreements& agreeing() noexcept { return *agreements_; }

  /// The bulk data of the broadcasts that run on this node.
  class bulks;
  bulks& bulk_data() noexcept { return *bulks_; }

  /// The gate around all work on the node: operations, and calls that it serves or waits for.
  gate& work() noexcept { return work_; }

  // The steps of `shut_down`.
  /// Refuses the requests that wait until their group is known.
  void refuse_waiting() noexcept;
  /// Asks the operations to stop; they answer by `by` at the latest.
  void abort_all(time_point by) noexcept;
  void stop_sweeping() noexcept;
  /// Asks about all groups again, after `stop_sweeping`.
  void start_sweeping();
  /// Stops telling members of groups that have ended, and ends all agreements.
  void stop_telling() noexcept;
  /// From now on keeps no ended group for members that its end has missed. They ask when their leases end.
  void leave_telling_to_sweeps() noexcept { tells_later_ = false; }
  /// Waits for background work that only has to end, once no operation is left.
  task<void> join();
  /// Joins if nothing runs any more. Returns false if something does.
  bool try_join() noexcept;
  /// Gives "scrub::execute" for every hook that has not returned.
  std::vector<std::string> running_hooks() const;

 private:
  friend class operation;
  friend class broadcast_repair;
  friend struct pending_admission;
  class admissions;
  friend class revoker;
  class sweeper;
  class end_requests;
  class end_teller;
  class member_questions;
  void on_request(transport::request_view& request) noexcept override;
  void on_cancelled(transport::incoming& work, const transport::cancel_reason& reason) noexcept override;
  bool on_notice(transport::session& from, std::span<const std::byte> head) noexcept override;
  void on_session_begun(transport::session& peer) noexcept override;
  void on_session_lost(transport::session& peer, const error& reason) noexcept override;
  void on_path_news(transport::session& peer, const transport::path_news& news) noexcept override;
  void on_rail_news(const transport::rail_news& news) noexcept override;
  void on_security_news(std::string_view what) noexcept override;
  void on_handshake_refused(node_id peer, const error& reason) noexcept override;
  void on_violation(node_id peer, const error& reason) noexcept override;
  void on_answers_missing(node_id peer, std::size_t waiting, std::size_t owing) noexcept override;
  using encode_function = result<std::size_t> (*)(const void* what, std::span<std::byte> into) noexcept;

  begun begin(const addressees& to, const std::shared_ptr<service_entry>& service, collective_kind kind,
              const tree_spec& tree, const bcast_options& options, encode_function encode, const void* what);
  status encode_request(operation& op, const addressees& to, encode_function encode, const void* what);
  static error why_no_room(const addressees& to);
  error dead_among(const addressees& to) const;
  std::vector<std::uint32_t> dead_ranks(const group_state& group) const;
  void end_all_of(group_state& group, const error& why) noexcept;
  void hear_of_revoke(const std::shared_ptr<group_state>& group, const error& why, node_id from);
  const error* revoke_of(const group_state& group) const;
  error refuse_revoked(const admission_request& request, const group_state& group,
                       const service_entry& service);
  error refuse_unknown_revoked(const admission_request& request, const collective_head& head);
  void learn_members(const group_id& id, membership_ptr members);
  bool view_differs(const group_state& group, const subset& root_sees) const;
  void on_life(node_id node, std::uint64_t incarnation);
  template <class Use>
  void each_operation_of(const service_entry& entry, Use&& use);
  void remove_service(const service_entry& entry);
  void end_life(node_id node, std::uint64_t last_incarnation);
  begun fail(operation& op, const error& why) noexcept;
  error admit_safely(const admission_request& request, const collective_head& head) noexcept;
  error admit(const admission_request& request, const collective_head& head);
  void forget_unused(group_state& group);
  static error check_sizes(const collective_head& head, std::size_t payload);
  error admit_to_group(const admission_request& request, const collective_head& head,
                       const std::shared_ptr<group_state>& group, std::shared_ptr<service_entry> service);
  static result<tree_place> place_in(group_state& group, const collective_head& head, const subset_ptr& of);
  error admit_once(group_state& group, const collective_head& head);
  error admit_kept(group_state& group, const collective_head& head, nanoseconds kept_for,
                   const service_table& table, bool relay, own_part& own);
  static bool has_seen(const group_state& group, const collective_head& head) noexcept;
  result<std::shared_ptr<group_state>> group_for(const admission_request& request,
                                                 const collective_head& head,
                                                 const std::shared_ptr<service_entry>& service);
  result<std::shared_ptr<group_state>> out_of_band_for(const admission_request& request,
                                                       const collective_head& head,
                                                       const std::shared_ptr<service_entry>& service);
  result<std::shared_ptr<group_state>> group_of_creation(const admission_request& request,
                                                         const collective_head& head);
  error why_not_on_terms(const group_id& id, const creation_terms& terms, bool delayed) const;
  std::shared_ptr<group_state> find_outer(const group_id& id) const;
  bool lies_within(const membership& members, const group_id& outer) const;
  void enter_within(const group_state& group);
  error await_members(const admission_request& request, const collective_head& head,
                      const transport::region_descriptor& from);
  static void note_holders(group_state& group, const collective_head& head, std::uint32_t parent_rank);
  result<std::shared_ptr<group_state>> hold_named(const membership_ptr& members, service_id service,
                                                  std::uint64_t id, bool by_request);
  void hold_mapped(resolution& search);
  error admit_forget(const admission_request& request, const collective_head& head,
                     std::shared_ptr<service_entry> service);
  error forget_unknown(const collective_head& head, const forget_request& forgets, const error& why);
  void hear_statement(const collective_head& head, const std::optional<creation_statement>& said);
  void end_group(const std::shared_ptr<group_state>& group, const group_ending& how);
  void end_operations(group_state& group) noexcept;
  bool full_for(collective_kind kind) const noexcept;
  operation* acquire(collective_kind kind) noexcept;
  void operation_ended(operation& op) noexcept;
  void retire(operation& op) noexcept;
  error check_new_group(const membership& members, service_id service, const group_options& options) const;
  task<error> tell_all(std::shared_ptr<group_state> group, nanoseconds time);
  task<result<outcome>> run_on_group(const addressees& to, collective_kind kind, tree_spec tree,
                                     time_limit deadline);
  task<status> destroy_again(std::shared_ptr<group_state> group);
  void end_after_last(const std::shared_ptr<group_state>& group, const outcome& told);
  task<status> end_everywhere(std::shared_ptr<group_state> group);
  task<status> ask_creator(std::shared_ptr<group_state> group);
  void tell_later(const group_state& group, const rank_set& untold);
  std::optional<creation_statement> statement_for(const group_id& id) const;
  transport::session* session_to(group_state& group, std::uint32_t rank) noexcept;

  executor& executor_;
  node_options options_;
  gate work_;
  std::shared_ptr<node_pools> pools_;
  std::unique_ptr<journal> journal_;
  transport::endpoint endpoint_;
  std::unique_ptr<worker_pool> pool_;
  std::map<service_id, std::shared_ptr<service_entry>> services_;
  mutable std::shared_ptr<service_entry> last_service_;  // looked up last: most requests are for one
  std::shared_ptr<service_entry> group_service_;
  group_table groups_;
  own_creations creations_;
  std::unique_ptr<sweeper> sweeper_;
  kept_windows windows_;
  mapped_groups mapped_{groups_, windows_};
  std::unique_ptr<member_questions> member_questions_;
  std::unique_ptr<admissions> admissions_;
  std::unique_ptr<end_teller> ends_;
  std::unique_ptr<agreements> agreements_;
  std::unique_ptr<end_requests> end_requests_;
  std::unique_ptr<bulks> bulks_;
  bool tells_later_ = true;
  std::unique_ptr<revoker> revokes_;
  known_lives lives_;
  intrusive_list<operation> live_;
  std::size_t live_operations_ = 0;
  start_hold hold_;
  collective_statistics statistics_;
  reply_memory reply_memory_;
  std::unique_ptr<own_records> records_;  // what this node has done, for further rounds
  std::unique_ptr<scope> scope_;
};

}  // namespace scoll::detail
