#include "scoll/collective/operation/operation.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/admission_request.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/operation/reply_stream.hpp"
#include "scoll/collective/operation/trace.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/coro/yield.hpp"
#include "transport/session/session.hpp"

// How an operation begins, runs and returns to the pool.
namespace scoll::detail {

operation_state::operation_state() = default;

operation_state::~operation_state() = default;

operation::operation() : context_(*this), user_stop_(&stopped_by_user, this) {}

operation::~operation() = default;

void operation::bind(std::shared_ptr<group_state> group, subset_ptr subset,
                     std::shared_ptr<service_entry> service, const any_tree& tree, std::uint32_t relative) {
  operation_subject& s = subject_;
  s.group = std::move(group);
  s.subset = std::move(subset);
  s.service = std::move(service);
  in_service_ = s.service->users.pass();
  s.table = s.service->table;
  s.tree = tree;
  s.members = s.subset != nullptr ? s.subset->size() : s.group->members->size();
  s.root = s.subset != nullptr ? *s.subset->index_of(s.head.root_rank) : s.head.root_rank;
  s.relative = relative;
  values_.use(*s.table);
  stop_.emplace();
  if ((s.head.flags & collective_head::streams) != 0) stream_ = std::make_unique<reply_stream>(*this);
  find_children();
}

/// Gives a root's operation what its options need. Errors: they do not go together, or there is no room.
status operation::provide_for(const addressees& to, const bcast_options& options) {
  const collective_head& head = subject_.head;
  if (!options.until.is_everyone()) {
    if (const status can = why_no_condition(options.until, to); !can) return can;
    if (options.bulk.given())
      return error(errc::unsupported, "bulk data go to every member, so the broadcast cannot end earlier");
    root_.condition = std::make_unique<broadcast_condition>(*this, options);
  }
  if (head.streams_items() && (head.answers_in_parts() || options.trace || options.bulk.given())) {
    return error(errc::unsupported,
                 "a broadcast with streams of items goes on to its end, without bulk data and a trace");
  }
  if (options.on_failure == repair) {
    if (const status can = why_no_repair(options, to); !can) return can;
    root_.repair = std::make_unique<broadcast_repair>(*this);
  }
  if (head.may_come_in_parts()) {
    if (const status aside = parts().set_aside(); !aside) return aside;
  }
  if (options.bulk.given()) {
    if (const status offered = offer_bulk(options); !offered) return offered;
  }
  return set_bounds(options);
}

/// Finds the children. A user's tree is not trusted: its children must lie in the group, and the walk is
/// bounded.
void operation::find_children() {
  const any_tree& tree = subject_.tree;
  const std::uint32_t members = subject_.members, relative = subject_.relative;
  const std::uint32_t most = std::min(tree.fan_out(members, relative), members - 1);
  if (most == 0) return;
  const auto room = children_.make_room(most);
  std::size_t found = 0;
  auto cursor = tree.cursor(members, relative);
  for (auto next = cursor.next(); next && found < room.size(); next = cursor.next()) {
    const bool orphan = SCOLL_MUTANT(off_by_one_tree, "the last member of a tree has no parent");
    if (*next >= members - orphan || *next == relative) continue;
    child& c = room[found++];
    c.owner = this;
    c.relative = *next;
    c.nodes = tree.subtree_nodes(members, *next);
    c.levels = tree.subtree_levels(members, *next);
    c.at = child::stage::idle;
    c.clean = c.lost = c.refused = c.reached = c.loaded = false;
    c.due = never;
    c.reason = {};
  }
  children_.use(found);
}

void operation::ask_for(node_id caller, std::string_view name) noexcept {
  caller_ = broadcast_caller::of(caller, name);
  subject_.head.flags |= collective_head::caller_follows;
}

void operation::deliver_to(item_gather& reader) noexcept {
  stream_->deliver_to(reader);
}

void operation::start(std::coroutine_handle<> waiter, stop_token stop) {
  root_.waiter = waiter;
  subject_.head.watermark =
      SCOLL_MUTANT(watermark_ahead, "a root says that operations have ended which have not")
          ? subject_.head.operation.counter
          : subject_.group->watermark();
  if (is_last() && subject_.group->rooted->last == 0) subject_.group->rooted->last = counter;
  if (!is_last() || times_.by_deadline)
    times_.begin_as_root(engine_->executor_.now(), subject_.levels(), finishing_time());
  if (root_.repair != nullptr) root_.repair->set_times();
  if (pauses_before_forwarding()) rearm();
  launch(needs_no_coroutine());
  if (!SCOLL_MUTANT(stop_unheard, "the caller's stop token is not heard")) user_stop_.connect(stop);
}

void operation::accept(const admission_request& request, const collective_head& head,
                       std::shared_ptr<group_state> group, subset_ptr subset,
                       std::shared_ptr<service_entry> service, const any_tree& tree, std::uint32_t relative,
                       bool relay) {
  subject_.head = head;
  drop_creation(request.payload());
  subject_.as = relay ? operation_subject::role::relay : operation_subject::role::member;
  bind(std::move(group), std::move(subset), std::move(service), tree, relative);
  reply_limit_ = request.reply_capacity();
  if (request.bulk() != nullptr) hear_bulk(*request.bulk());
  if (request.caller() != nullptr) caller_ = *request.caller();
  // An operation that ends within this turn may hold on to the buffer in which it arrived.
  const bool at_once = needs_no_coroutine();
  request_.forwarded =
      at_once ? std::move(request.payload()) : engine_->endpoint_.keep(std::move(request.payload()));
  times_.begin_as_member(request.arrived(), head, subject_.levels());
  if (is_kept()) kept().enter();
  if (pauses_before_forwarding()) rearm();
  request.accept(*this);
  if (head.may_come_in_parts()) parts().set_aside().ignore();  // the request would not have been admitted
  hear_of_permission(&reply_parts::heard_permission);
  release_credit();
  launch(at_once);
}

void operation::stopped_by_user(void* self) noexcept {
  static_cast<operation*>(self)->end_by(end_cause::cancelled);
}

void operation::on_parent_cancelled(const transport::cancel_reason& said) noexcept {
  if (own_.record != nullptr && !said.answer_awaited &&
      !SCOLL_MUTANT(cancel_stops_retained, "a parent that gives up stops what its child keeps for others"))
    return drop();  // another parent will ask for what is kept
  ending_.answer_awaited &= said.answer_awaited;
  end_by(end_cause::cancelled,
         said.why == errc::cancelled ? error() : error(said.why, "the parent has ended the broadcast"));
  progress_.set();
}

void operation::end_by(end_cause cause, const error& reason) noexcept {
  if (result_given() && cause != end_cause::deadline &&
      SCOLL_MUTANT(straggler_detached, "a broadcast whose result was given out does not end with its group"))
    return;
  bool& told = cause == end_cause::deadline ? times_.expired : ending_.asked;
  const bool begins = !std::exchange(told, true);
  const bool hurries = ends_at_once(cause) && !std::exchange(ending_.at_once, true);
  if (!begins && !hurries) return;
  if (ending_.cause == end_cause::none ||
      SCOLL_MUTANT(end_reason_overwritten, "the last cause of an early end is reported, not the first")) {
    ending_.cause = cause;
    ending_.reason = reason;
  }
  if (stop_ && !(cause == end_cause::deadline && kept().outlives_answer())) stop_->request_stop();
  if (cause != end_cause::deadline) kept().stop_elsewhere();
  if (root_.repair != nullptr) root_.repair->end_by(cause, reason);
  progress_.set();
}

void operation::close_by(time_point at) noexcept {
  const error why(errc::closed, "the service is being closed");
  if (subject_.is_root()) {
    end_by(end_cause::closing, why);
    return expire_by(at);
  }
  if (own_.settled) return;
  own_.closed = why;
  if (stop_) stop_->request_stop();
  progress_.set();
}

void operation::give_up_readers() noexcept {
  if (bulk_ != nullptr && answered()) bulk_->nobody_reads();
}

void operation::give_up_closed_part() noexcept {
  if (!own_.closed || own_.settled) return;
  if (hooks_.at(hook_kind::prepare).running) return end_by(end_cause::closing, own_.closed);
  if (!own_.begun || executed().done) return;
  own_.settled = true;
  const error silent(errc::closed, "execute has not returned, and the service is being closed");
  mark_self(member_state::unknown, note(phase::execute, silent));
  progress_.set();
}

/// Returns the operation to the pool, with all memory worth keeping.
void operation::reset() noexcept {
  timer_disarm();
  if (is_kept()) kept().leave();
  rooted_operation::unlink();
  if (bulk_ != nullptr) engine_->bulks_->release(*std::exchange(bulk_, nullptr));
  values_.clear(executed().done && executed().outcome.has_value());
  stream_.reset();
  children_.clear();
  outcome_.clear();
  engine_->reply_memory_.give_back(std::exchange(reserved_, 0));
  if (SCOLL_MUTANT(request_kept, "an operation that has ended keeps its request")) {
    request_.received = {};
  } else {
    request_ = {};
  }
  loaded_.reset();
  trace_.reset();
  hooks_.clear();
  caller_.reset();
  own_.clear();
  ending_.clear();
  result_.clear();
  if (subject_.is_root()) root_ = {};
  times_ = {};
  stage_ = stage::idle;
  stop_.reset();
  in_service_.leave();
  in_node_.leave();
  subject_.clear();
}

/// Starts the operation in a later step. An operation with nothing to wait for needs no coroutine.
void operation::launch(bool at_once) {
  stage_ = stage::running;
  if (subject_.head.is_traced()) trace_ = operation_trace::begin(engine_->executor_, children_.size());
  if (at_once) return engine_->executor_.schedule(run_);
  engine_->scope_->spawn(run());
}

/// True for a leaf without bulk data whose hooks are plain functions.
bool operation::needs_no_coroutine() const noexcept {
  const service_table& t = table();
  return children_.empty() && !is_last() && bulk_ == nullptr && root_.condition == nullptr &&
         !own_.elsewhere && !t.prepare.suspends && !t.execute.suspends && !t.finish.suspends;
}

void operation::run_at_once() {
  if (take_request() && prepare_now()) {
    start_execute();
    give_up_waiting();
    finish_now();
  }
  timer_disarm();
  answer();
  end();
}

task<void> operation::run() {
  if (is_last()) co_await after_earlier_ones();
  bool forwarding = take_request();
  if (forwarding && table().prepare.suspends && !only_forwards()) {
    forwarding = co_await prepare();
  } else if (forwarding) {
    forwarding = prepare_now();
  }
  if (forwarding) {
    const bool late = trace_ != nullptr && bulk_ == nullptr &&
                      SCOLL_MUTANT(trace_reorders, "a traced member forwards only when it has executed");
    if (late) {
      start_execute();
      co_await until(executed().done);
    }
    forward();
    if (!children_.empty() && !table().short_execute) co_await forwards_left();
    if (!late && (bulk_ == nullptr || subject_.is_relay())) start_execute();
    settling so_far;
    while (awaits_news()) {
      progress_.reset();
      const bool more = bulk_ != nullptr && hand_out_bulk();
      if (has_own_news()) settle_own();
      while (child* const next = settle_arrived(so_far)) {
        if (so_far.rests) {
          co_await yield();
        } else {
          co_await settle(*next);
        }
      }
      if (subject_.head.may_come_in_parts()) tell_news();
      if (root_.condition != nullptr && root_.condition->is_decided()) co_await root_.condition->give_out();
      if (root_.repair != nullptr) root_.repair->go_on();
      if (more) {
        co_await yield();
      } else if (awaits_news()) {
        co_await progress_.wait();
      }
    }
    if (bulk_ != nullptr && out_of_time()) bulk_->stop_landing();
    if (ending_.asked && !ending_.at_once) co_await abort_subtree();
    if (root_.repair != nullptr) co_await root_.repair->join();
    give_up_waiting();
    if (table().finish.suspends) co_await finish();
    finish_now();
  }
  timer_disarm();
  if (bulk_ != nullptr) {
    stop_bulk();
    if (subject_.is_root()) co_await root_hook_returned();
  }
  answer();
  if (bulk_ != nullptr) co_await readers_gone();
  if (is_kept() && kept().outlives_answer()) engine_->executor_.arm(timer_, own_.hook_until);
  while (hooks_.any_running()) {
    progress_.reset();
    co_await progress_.wait();
  }
  end();
}

/// Takes the last step. The object may be another operation when this returns.
void operation::end() {
  if (table().replied != nullptr && !only_forwards()) table().replied(subject_.service->instance, context_);
  stage_ = stage::ended;
  engine_->operation_ended(*this);
}

/// Runs a hook beside the operation, so that the answer can leave on time whatever the hook does.
task<void> operation::run_hook(hook_call work, hook_set::state& state) {
  status ended = co_await std::move(work);
  hooks_.end(state, ended);
  if (trace_ != nullptr && &state == &executed()) trace_->ended();
  if (is_kept() && own_.settled && &state == &executed()) kept().end();
  progress_.set();
}

hook_set::state& operation::spawn_hook(hook_call work, hook_kind which) {
  hook_set::state& state = hooks_.begin(which);
  engine_->scope_->spawn(run_hook(std::move(work), state));
  return state;
}

/// Waits until `done` or until the operation must answer. Returns true if done.
task<bool> operation::until(const bool& done) {
  while (!done && !out_of_time()) {
    progress_.reset();
    co_await progress_.wait();
  }
  co_return done;
}

}  // namespace scoll::detail
