#pragma once

#include <array>
#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/context.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/member_node.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/service_table.hpp"
#include "transport/session/exchange.hpp"

namespace scoll::detail {

/// One broadcast on one node, root or not: the same code runs on both. Pooled, with all that it grows to.
///
/// ```
///   begin/accept ─► prepare ─► forward to children ─► execute ┐
///                      │            │                         ├─► merge as they arrive ─► finish ─► answer
///                      │ refused    └─► replies, losses ──────┘      time is over, cancelled ▲        │
///                      └─────────────────────────────────────────────────────────────────────┘        ▼
///                                                                                                  replied
/// ```
///
/// The answer leaves when its time is over even if hooks still run; the operation then stays, and is
/// accounted for, until they have returned.
class operation final : public list_hook<> {
 public:
  operation();
  ~operation();

  // root
  void start(std::coroutine_handle<> waiter, stop_token stop);
  const status& result_status() const noexcept { return status_; }
  void* value() noexcept { return reply_; }
  /// For an operation that is never started.
  void abandon() noexcept { ended_ = true; }
  outcome take_outcome();

  // member
  void accept(transport::request_view& request, const collective_head& head,
              std::shared_ptr<group_state> group, subset_ptr some, std::shared_ptr<service_entry> service,
              const any_tree& tree, std::uint32_t relative, bool relay);
  void on_parent_cancelled(bool answer_awaited) noexcept;
  /// Nothing begins from here on; hooks and children are asked to end, and get a bounded time to say how far
  /// they came (`C13`).
  void abort() noexcept;
  /// The answer leaves by then at the latest.
  void expire_by(time_point at) noexcept;

  /// Names of the hooks that have not returned.
  std::vector<const char*> running_hooks() const;
  const service_table& table() const noexcept { return *table_; }

 private:
  friend class engine;
  friend class scoll::bcast_context;

  struct child final : transport::exchange {
    enum class state : std::uint8_t { idle, pending, arrived, settled };

    child() noexcept : exchange(&on_reply) {}
    std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(this - owner->children_.get()); }
    static void on_reply(transport::exchange& self, transport::reply_event& event) noexcept;

    operation* owner = nullptr;
    std::uint32_t relative = 0;
    std::uint32_t nodes = 0;
    std::uint32_t levels = 0;
    state at = state::idle;
    bool clean = false;
    bool lost = false;     // ended without an answer of its own
    bool refused = false;  // the child said no before any hook
    bool reached = false;
    time_point due{};
    error reason;
    collective_reply_head head;
    transport::buffer_view answer;
  };
  static_assert(std::is_base_of_v<transport::exchange, child>, "a hop and a shipped call are one primitive");
  enum class hook_kind : std::uint8_t { prepare, execute, on_reply, finish };
  struct hook_state {
    bool running = false;
    bool done = false;
    status outcome;  // once done

    void reset() noexcept {
      if (done) outcome = {};
      running = done = false;
    }
  };
  class deadline_timer final : public timer_node {
   public:
    explicit deadline_timer(operation& owner) noexcept : timer_node(&fire), owner_(owner) {}
    ~deadline_timer() = default;

   private:
    static void fire(timer_node& node) noexcept { static_cast<deadline_timer&>(node).owner_.on_timer(); }
    operation& owner_;
  };

  // life
  void bind(std::shared_ptr<group_state> group, subset_ptr some, std::shared_ptr<service_entry> service,
            const any_tree& tree, std::uint32_t relative);
  void find_children();
  void reset() noexcept;
  static void stopped_by_user(void* self) noexcept;

  // steps
  void launch();
  bool ends_at_once() const noexcept;
  task<void> run();
  void run_at_once();
  void end();
  task<void> run_hook(task<status> work, hook_state& state);
  hook_state& spawn_hook(task<status> work, hook_kind which);
  hook_state& executed() noexcept { return hooks_[static_cast<std::size_t>(hook_kind::execute)]; }
  bool telling() const noexcept { return hooks_[static_cast<std::size_t>(hook_kind::on_reply)].running; }
  task<bool> until(const bool& done);
  bool take_request();
  bool prepare_now();
  task<bool> prepare();
  bool prepared(status checked);
  status encode_rewritten();
  void fail_before_forwarding(const error& why, phase where);
  void forward();
  void send_to(child& c);
  event::awaiter forwards_left() noexcept;
  void on_submitted();
  void start_execute();
  error other_version() const;
  task<void> collect();
  void settle_own();
  task<void> abort_subtree();
  bool awaiting_children() const noexcept;
  void* take_arrived(child& c, std::size_t mark);
  void settle_now(child& c);
  task<void> settle(child& c);
  void settle_lost(child& c);
  status tell_now(child& c, std::size_t mark);
  void merge_arrived(child& c, std::size_t mark, const status& told);
  bool has_merged(const child& c, std::size_t mark) const;
  void* take_answer(child& c, std::size_t mark);
  void reject_answer(child& c, std::size_t mark, const error& why, bool account_known);
  void lose_subtree_value(child& c, std::size_t mark, std::uint16_t index);
  status decode_values(child& c, std::span<const std::byte> bytes);
  status take_value(child& c, std::span<const std::byte> bytes);
  void drop_value(void*& value) noexcept;
  void merge_from(void*& value) noexcept;
  void finish_now();
  task<void> finish();
  void lose_reply(const error& why);
  void give_up_waiting();
  bool all_clean() const noexcept;
  void answer();
  void answer_root();
  void answer_parent();
  bool fill_answer(transport::message& m);
  std::size_t encode_answer(std::span<std::byte> into, collective_reply_head& head);
  std::size_t give_up_value(const error& why);

  // time
  error why_out_of_time(std::string_view what) const noexcept;
  status set_bounds(const bcast_options& options);
  nanoseconds finishing_time() const noexcept;
  void set_root_times();
  void set_times_from_head(const collective_head& head);
  void rearm();
  void timer_disarm() noexcept;
  void on_timer() noexcept;
  void abort_children();
  void extend(nanoseconds bound);
  void on_extension(child& c, nanoseconds bound);
  bool out_of_time() const noexcept { return expired_ || cancelled_; }

  // account
  std::uint16_t note(phase where, const error& what);
  void collect_ranges(const child& c, std::vector<rank_range>& into) const;
  void mark_subtree(const child& c, member_state state, std::uint16_t cause_index);
  void mark_below(const child& c, member_state state, std::uint16_t cause_index);
  error first_reason(const child& c, std::size_t mark) const;
  std::uint32_t rank_at(std::uint32_t relative) const noexcept;
  template <class Fn>
  void visit_ranks(rank_range relative, Fn fn) const;
  std::span<const std::byte> request_part() const noexcept {
    return request_bytes_.bytes.subspan(head_.subset_bytes);
  }
  std::span<child> children() noexcept { return {children_.get(), child_count_}; }

  engine* engine_ = nullptr;  // that runs it now
  bcast_context context_;

  // what it is about
  collective_head head_;
  std::shared_ptr<group_state> group_;
  subset_ptr some_;  // whom it is for, if not all
  std::shared_ptr<service_entry> service_;
  const service_table* table_ = nullptr;
  any_tree tree_;
  std::uint32_t members_ = 0;  // that it is for
  std::uint32_t root_ = 0;     // place of the root among them
  std::uint32_t relative_ = 0;
  bool is_root_ = false;
  bool relay_ = false;  // this node cannot decode the request: it forwards and passes replies on

  // data
  transport::buffer_view request_bytes_;  // what is forwarded
  transport::buffer_view
      received_bytes_;  // what came, if `prepare` rewrote it: the decoded request may point into it
  std::uint64_t request_checksum_ = 0;
  void* request_ = nullptr;                     // decoded
  void* own_ = nullptr;                         // for the reply of `execute`
  void* arrived_ = nullptr;                     // a child's value on its way to be merged
  void* reply_ = nullptr;                       // merged
  void* held_reply_ = nullptr;                  // `finish` did not let go of it in time
  void* held_arrived_ = nullptr;                // nor `on_reply` of that
  std::vector<transport::buffer_view> opaque_;  // values that a relay passes on as they are
  raw_arrival arrival_{};

  // progress
  std::unique_ptr<child[]> children_;
  std::size_t child_capacity_ = 0;
  std::size_t child_count_ = 0;
  std::size_t unsettled_ = 0;
  outcome_builder outcome_;
  dissent dissent_;  // in this subtree
  status status_;
  std::array<hook_state, 4> hooks_;  // those that can be coroutines
  bool execute_started_ = false;
  bool execute_settled_ = false;
  bool refused_ = false;  // failed before forwarding
  bool clean_ = false;
  bool answered_ = false;
  bool ended_ = false;     // no hook runs any more
  bool released_ = false;  // the root's caller has taken the result
  event progress_;
  event submitted_;
  std::uint32_t hooks_running_ = 0;

  // time
  time_point started_{};
  time_point expires_ = never;
  time_limit limit_;
  nanoseconds margin_{0};
  nanoseconds rtt_{0};
  nanoseconds processing_{0};
  bool by_deadline_ = false;
  bool expired_ = false;
  bool late_ = false;  // has been expired
  bool cancelled_ = false;
  bool parent_gone_ = false;  // and waits for no answer
  deadline_timer timer_;
  member_node<operation> run_{*this, &operation::run_at_once};
  member_node<operation> submitting_{*this, &operation::on_submitted};
  std::optional<stop_source> stop_;
  stop_callback user_stop_;

  // ends
  transport::incoming parent_;
  std::uint32_t reply_limit_ = 0;
  std::coroutine_handle<> waiter_;
  coroutine_node wake_;
};

/// Starts an operation and waits for its answer.
class operation_awaiter {
 public:
  operation_awaiter(operation& op, stop_token stop) noexcept : op_(op), stop_(stop) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) { op_.start(waiter, stop_); }
  void await_resume() const noexcept {}

 private:
  operation& op_;
  stop_token stop_;
};

}  // namespace scoll::detail
