#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "scoll/bulk/predict.hpp"
#include "scoll/collective/context.hpp"
#include "scoll/collective/operation/condition.hpp"
#include "scoll/collective/operation/kept_part.hpp"
#include "scoll/collective/operation/repair.hpp"
#include "scoll/collective/operation/reply_parts.hpp"
#include "scoll/collective/operation/state.hpp"
#include "scoll/collective/parent_request.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/member_timer.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/detail/service_table.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

class admission_request;
class item_gather;
struct bulk_head;

/// One broadcast on one node: the same code on the root and on members. Operations are pooled, with all memory
/// that they grow to. A member's operation is also its parent's request that is being served.
/// ```text
///   begin/accept ─► prepare ─► forward to children ─► execute ┐
///                      │            │                         ├─► merge as they arrive ─► finish ─► answer
///                      │ refused    └─► replies, losses ──────┘      end_by ▲                         │
///                      └────────────────────────────────────────────────────┘                         ▼
///                                                                                                  replied
/// ```
///
/// The answer leaves when its time is over even if hooks still run. The operation then stays, and is counted,
/// until they have returned. Each source holds one step, and says which.
class operation final : operation_state, public list_hook<>, public rooted_operation, public parent_request {
 public:
  operation();
  ~operation();

  // On the root.
  void start(std::coroutine_handle<> waiter, stop_token stop);
  /// Says before the start for whom this node broadcasts, if it is not for itself.
  void ask_for(node_id caller, std::string_view name) noexcept;
  /// Sets a deadline that has begun before the start.
  void set_limit(time_limit whole) noexcept { times_.limit = whole; }
  const status& result_status() const noexcept;
  void* value() noexcept { return values_.given() != nullptr ? values_.given() : values_.merged(); }
  std::shared_ptr<rest_of_broadcast> rest() const;
  std::shared_ptr<const collective_trace> trace() const;
  /// Fires when the operation is to end early, before it has been started, too.
  stop_token early_end() noexcept { return stop_->token(); }
  /// The reason of an early end. Empty if there is none, and for an end by a deadline or by the caller.
  const error& early_reason() const noexcept { return ending_.reason; }
  void abandon() noexcept { stage_ = stage::ended; }  ///< ends one that is never started
  outcome take_outcome() const;
  const std::optional<bulk_report>& bulk() const noexcept { return root_.bulk; }

  /// Hands all items to `reader`, before the start.
  void deliver_to(item_gather& reader) noexcept;

  // Called on a member.
  void accept(const admission_request& request, const collective_head& head,
              std::shared_ptr<group_state> group, subset_ptr subset, std::shared_ptr<service_entry> service,
              const any_tree& tree, std::uint32_t relative, bool relay);
  void on_parent_cancelled(const transport::cancel_reason& said) noexcept override;

  /// Ends the operation early: no further step begins, and hooks are asked to end. The first cause stands, and
  /// states that are written from then on carry its reason. A deadline, a revoke and the death of the root end
  /// it at once. Otherwise the children are asked to report within a bounded time how far they came.
  void end_by(end_cause cause, const error& reason = {}) noexcept;
  /// Makes the answer leave by `at` at the latest.
  void expire_by(time_point at) noexcept;
  /// The service is being closed. A root's broadcast ends by `at`. A member's hooks are asked to end, and no
  /// further one of its own part begins; the children's answers are still awaited.
  void close_by(time_point at) noexcept;
  void give_up_closed_part() noexcept;  ///< awaits `execute` no more if `close_by` has asked it to end
  void give_up_readers() noexcept;      ///< keeps bulk data for nobody any more, if it has answered
  /// Makes the frames of two operations that run at once, and leaves them to the pool.
  void pool_two_frames() { const task<void> one = run(), other = run(); }

  bool is_revoked() const noexcept { return ending_.cause == end_cause::revoked; }
  bool answered() const noexcept { return stage_ >= stage::answered; }
  std::vector<const char*> running_hooks() const { return hooks_.running(); }
  const service_table& table() const noexcept { return *subject_.table; }
  /// The group of the broadcast that a hook serves.
  static const std::shared_ptr<group_state>& group_of(const bcast_context& c) noexcept {
    return c.operation_.subject_.group;
  }
  static const operation_bulk* bulk_of(const bcast_context& c) noexcept { return c.operation_.bulk_; }
  /// True if its service lets bulk data pass through slots.
  static bool passes_bulk(const bcast_context& c) noexcept { return c.operation_.table().bulk_window != 0; }

 private:
  friend class engine;
  friend class scoll::bcast_context;
  friend struct operation_child;
  friend class reply_parts;
  friend class reply_stream;
  friend class broadcast_condition;
  friend class broadcast_repair;
  friend class kept_part;
  using child = operation_child;

  // Life.
  void bind(std::shared_ptr<group_state> group, subset_ptr subset, std::shared_ptr<service_entry> service,
            const any_tree& tree, std::uint32_t relative);
  status provide_for(const addressees& to, const bcast_options& options);
  void find_children();
  void reset() noexcept;
  static void stopped_by_user(void* self) noexcept;
  void launch(bool at_once);
  bool needs_no_coroutine() const noexcept;
  /// True if it may wait before it forwards. Its timer is armed then, and else when it has forwarded.
  bool pauses_before_forwarding() const noexcept { return is_last() || table().prepare.suspends; }
  bool is_last() const noexcept;
  bool earlier_ones_run() noexcept;
  task<void> after_earlier_ones();
  void wake_last() noexcept;
  task<void> run();
  void run_at_once();
  void end();
  task<void> run_hook(hook_call work, hook_set::state& state);
  hook_set::state& spawn_hook(hook_call work, hook_kind which);
  hook_set::state& executed() noexcept { return hooks_.at(hook_kind::execute); }
  task<bool> until(const bool& done);

  // The way down.
  void drop_creation(transport::buffer_view& payload) noexcept;
  bool take_request();
  bool prepare_now();
  bool passes_round();
  task<bool> prepare();
  bool prepared(status checked);
  status encode_rewritten();
  void fail_before_forwarding(const error& why, phase where);
  void forward();
  const transport::session* send_to(child& c);
  transport::message& make_request(child& c, nanoseconds round_trip);
  transport::message& put_request(transport::message& m, const collective_head& head,
                                  const transport::buffer_view& payload, std::uint64_t checksum);
  status load_creation();
  collective_head head_with_creation() const noexcept;
  bool creation_rides_to(const child& c) const noexcept;
  bool asks_again(const child& c) const noexcept;
  void ask_again(child& c);
  void note_holders(const child& c, std::size_t mark);
  event::awaiter forwards_left() noexcept;
  void on_submitted();
  void start_execute();
  error other_version() const;

  // Bulk data.
  status offer_bulk(const bcast_options& options);
  void offer_bulk_again(const operation_bulk& first);
  result<bulk_choice> choose_plan(const bcast_options& options) const;
  void hear_bulk(const bulk_head& said);
  status expose_bulk();
  bool hand_out_bulk();
  bool take_chunk(const bulk_chunk& chunk);
  void stop_bulk() noexcept;
  void tell_bulk_failed(const error& why) noexcept;
  task<void> root_hook_returned();
  task<void> readers_gone();

  // The way up.
  /// How far the news of a turn have been entered.
  struct settling {
    std::size_t at = 0;      // the child whose news come next
    std::size_t merged = 0;  // bytes since others had a turn
    bool rests = false;      // others are to have one
  };
  void heard(child& c, transport::reply_event& event) noexcept;
  bool has_own_news() noexcept {
    return !own_.settled && (own_.elsewhere ? kept().is_known() : executed().done);
  }
  operation_child* settle_arrived(settling& so_far);
  void tell_news();
  bool all_settled() const noexcept {
    return children_.unsettled == 0 && own_.settled && (stream_ == nullptr || is_drained());
  }
  bool collected() const noexcept {
    return all_settled() && (root_.repair == nullptr || root_.repair->is_over());
  }
  bool awaits_news() const noexcept { return !collected() && !out_of_time(); }
  bool is_drained() const noexcept;
  task<void> abort_subtree();
  void settle_own();
  void keep_piece(reply_piece& at, const collective_reply_head& head, transport::reply_event& event) noexcept;
  void* enter_news(child& c, std::size_t mark);
  void* take_arrived(child& c, std::size_t mark);
  void settle_now(child& c);
  task<void> settle(child& c);
  status tell_now(child& c, std::size_t mark);
  void merge_arrived(child& c, std::size_t mark, const status& told);
  void* take_answer(child& c, std::size_t mark);
  void* take_values(child& c, std::size_t mark, const reply_piece& piece);
  status read_account(child& c);
  void hear_of_revoke(const child& c, const error& why);
  void reject_answer(child& c, std::size_t mark, const error& why, bool account_known);
  status decode_values(const reply_piece& piece);
  status take_value(const reply_piece& piece, std::span<const std::byte> bytes);

  // Answers in parts, and results that are given out before the end.
  bool result_given() const noexcept { return root_.condition != nullptr && root_.condition->given(); }
  bool finishes_here() const noexcept;
  bool tells_losses() const noexcept { return (subject_.head.flags & collective_head::tell_losses) != 0; }
  bool fails_fast() const noexcept { return tells_losses() && !subject_.head.keeps_parts(); }
  reply_parts parts() noexcept { return reply_parts(*this); }
  bool is_kept() const noexcept { return own_.record != nullptr; }
  kept_part kept() noexcept { return kept_part(*this); }
  bool only_forwards() const noexcept { return subject_.is_relay() || own_.elsewhere; }
  reply_memory& memory_for_parts() const noexcept { return engine_->reply_memory_; }
  collective_statistics& statistics() const noexcept { return engine_->statistics_; }
  std::span<std::byte> scratch() const { return engine_->pools_->scratch(); }

  // The end.
  void finish_now();
  task<void> finish();
  void give_up_waiting();
  void give_up_own();
  bool all_clean() const noexcept;
  void answer();
  bool others_took_part() const noexcept;
  void answer_root();
  void wake_caller();
  void answer_parent();
  bool fill_answer(transport::message& m);
  bool put_traced(transport::message& m, collective_reply_head head, std::size_t size);
  bool put_reply(transport::message& m, std::span<const std::byte> bytes);
  std::size_t encode_answer(std::span<std::byte> into, collective_reply_head& head);
  std::size_t encode_account(std::span<std::byte> into);
  std::size_t give_up_value(const error& why);
  void lose_reply(const error& why);

  // Time limits.
  error why_ended(std::string_view what) const noexcept;
  errc code_to_tell() const noexcept;
  status set_bounds(const bcast_options& options);
  nanoseconds finishing_time() const noexcept;
  void rearm();
  void timer_disarm() noexcept;
  void on_timer() noexcept;
  void abort_children();
  void extend(nanoseconds bound);
  void tell_extension(nanoseconds bound);
  void on_extension(child& c, nanoseconds bound);
  bool out_of_time() const noexcept { return times_.expired || ending_.asked; }

  // The account.
  std::uint16_t note(phase where, const error& what);
  void collect_ranges(const child& c, std::vector<rank_range>& into) const;
  void mark_self(member_state state, std::uint16_t cause_index = 0);
  void mark_subtree(const child& c, member_state state, std::uint16_t cause_index);
  void mark_below(const child& c, member_state state, std::uint16_t cause_index);
  void mark_lost(child& c);
  void lose_subtree_value(child& c, std::size_t mark, std::uint16_t index);
  bool has_merged(const child& c, std::size_t mark) const;
  outcome outcome_of(const outcome_builder& account) const;
  outcome outcome_so_far() const;
  outcome final_outcome() const;
  error first_reason(const child& c, std::size_t mark) const;

  std::span<const std::byte> request_part() const noexcept {
    return request_.forwarded.bytes.subspan(subject_.bytes_before_request());
  }

  bcast_context context_;
  event progress_;
  event submitted_;
  member_timer<&operation::on_timer> timer_{*this};
  member_node<&operation::run_at_once> run_{*this};
  member_node<&operation::on_submitted> submitting_{*this};
  std::optional<stop_source> stop_;
  stop_callback user_stop_;
  coroutine_node wake_;
};

}  // namespace scoll::detail
