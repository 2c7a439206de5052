#include "scoll/collective/operation/operation.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/wire.hpp"

// How an operation begins, runs and goes back to the pool.
namespace scoll::detail {

operation::operation() : context_(*this), timer_(*this), user_stop_(&stopped_by_user, this) {}

operation::~operation() = default;

std::uint32_t operation::rank_at(std::uint32_t relative) const noexcept {
  const std::uint32_t place = to_rank(relative, root_, members_);
  return some_ != nullptr ? some_->rank_at(place) : place;
}

// ---- beginning

void operation::bind(std::shared_ptr<group_state> group, subset_ptr some,
                     std::shared_ptr<service_entry> service, const any_tree& tree, std::uint32_t relative) {
  group_ = std::move(group);
  some_ = std::move(some);
  service_ = std::move(service);
  ++service_->running;
  table_ = service_->table;
  tree_ = tree;
  members_ = some_ != nullptr ? some_->size() : group_->members->size();
  root_ = some_ != nullptr ? *some_->index_of(head_.root_rank) : head_.root_rank;
  relative_ = relative;
  stop_.emplace();
  find_children();
}

/// A user's tree is not trusted to be one: its children are checked to lie in the group, and the walk is
/// bounded.
void operation::find_children() {
  child_count_ = std::min(tree_.fan_out(members_, relative_), members_ - 1);
  if (child_count_ > child_capacity_) {
    child_capacity_ = std::max<std::size_t>(child_count_, 2 * child_capacity_);
    children_ = std::make_unique<child[]>(child_capacity_);
  }
  std::size_t found = 0;
  auto cursor = tree_.cursor(members_, relative_);
  for (auto relative = cursor.next(); relative && found < child_count_; relative = cursor.next()) {
    if (*relative >= members_ - SCOLL_MUTANT(off_by_one_tree) || *relative == relative_) continue;
    child& c = children_[found++];
    c.owner = this;
    c.relative = *relative;
    c.nodes = tree_.subtree_nodes(members_, *relative);
    c.levels = tree_.subtree_levels(members_, *relative);
    c.at = child::state::idle;
    c.clean = c.lost = c.refused = c.reached = false;
    c.due = never;
    c.reason = {};
  }
  child_count_ = found;
}

void operation::start(std::coroutine_handle<> waiter, stop_token stop) {
  waiter_ = waiter;
  is_root_ = true;
  set_root_times();
  rearm();
  launch();
  if (!SCOLL_MUTANT(stop_unheard)) user_stop_.connect(stop);
}

void operation::accept(transport::request_view& request, const collective_head& head,
                       std::shared_ptr<group_state> group, subset_ptr some,
                       std::shared_ptr<service_entry> service, const any_tree& tree, std::uint32_t relative,
                       bool relay) {
  head_ = head;
  bind(std::move(group), std::move(some), std::move(service), tree, relative);
  is_root_ = false;
  relay_ = relay;
  reply_limit_ = request.reply_capacity();
  // What ends within this turn may hold on to the buffer that it arrived in.
  request_bytes_ =
      ends_at_once() ? std::move(request.payload()) : engine_->endpoint_.keep(std::move(request.payload()));
  set_times_from_head(head);
  request.accept(parent_);
  parent_.release_credit();
  launch();
}

void operation::stopped_by_user(void* self) noexcept {
  static_cast<operation*>(self)->abort();
}

void operation::on_parent_cancelled(bool answer_awaited) noexcept {
  parent_gone_ |= !answer_awaited;
  abort();
  progress_.set();
}

void operation::abort() noexcept {
  if (std::exchange(cancelled_, true)) return;
  if (stop_) stop_->request_stop();
  progress_.set();
}

std::vector<const char*> operation::running_hooks() const {
  constexpr std::array names{"prepare", "execute", "on_reply", "finish"};
  std::vector<const char*> running;
  for (std::size_t i = 0; i < hooks_.size(); ++i) {
    if (hooks_[i].running) running.push_back(names[i]);
  }
  return running;
}

/// Back to the pool, with all memory that is worth keeping.
void operation::reset() noexcept {
  timer_disarm();
  if (request_ != nullptr) {
    table_->destroy_request(request_);
    frame_pool::deallocate(std::exchange(request_, nullptr), table_->request_size);
  }
  if (own_ != nullptr) {
    if (executed().done && executed().outcome) table_->destroy_reply(own_);
    frame_pool::deallocate(std::exchange(own_, nullptr), table_->reply_size);
  }
  drop_value(reply_);
  drop_value(arrived_);
  drop_value(held_reply_);
  drop_value(held_arrived_);
  for (child& c : children()) c.answer = {};
  if (!SCOLL_MUTANT(request_kept)) request_bytes_ = {};
  received_bytes_ = {};
  opaque_.clear();
  outcome_.clear();
  child_count_ = unsettled_ = 0;
  dissent_ = {};
  if (!status_) status_ = {};
  for (hook_state& hook : hooks_) hook.reset();
  execute_started_ = execute_settled_ = false;
  refused_ = answered_ = ended_ = released_ = clean_ = false;
  expired_ = late_ = cancelled_ = parent_gone_ = by_deadline_ = relay_ = is_root_ = false;
  expires_ = never;
  margin_ = rtt_ = processing_ = nanoseconds(0);
  limit_ = {};
  stop_.reset();
  group_.reset();
  some_.reset();
  if (service_ != nullptr && --service_->running == 0) service_->idle.set();
  service_.reset();
  table_ = nullptr;
}

// ---- the whole of it

/// In a later step. What has nothing to wait for needs no coroutine.
void operation::launch() {
  if (ends_at_once()) return engine_->executor_.schedule(run_);
  engine_->scope_->spawn(run());
}

/// A leaf whose hooks are plain functions.
bool operation::ends_at_once() const noexcept {
  return child_count_ == 0 && table_->prepare == nullptr && table_->execute == nullptr &&
         table_->finish == nullptr;
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
  bool forwarding = take_request();
  if (forwarding && table_->prepare != nullptr && !relay_) {
    forwarding = co_await prepare();
  } else if (forwarding) {
    forwarding = prepare_now();
  }
  if (forwarding) {
    forward();
    if (child_count_ != 0 && !table_->short_execute) co_await forwards_left();
    start_execute();
    co_await collect();
    if (cancelled_) co_await abort_subtree();
    give_up_waiting();
    if (table_->finish != nullptr) co_await finish();
    finish_now();
  }
  timer_disarm();
  answer();
  while (hooks_running_ != 0) {
    progress_.reset();
    co_await progress_.wait();
  }
  end();
}

/// The last thing it does: it may be another operation when this returns.
void operation::end() {
  if (table_->replied != nullptr && !relay_) table_->replied(service_->instance, context_);
  ended_ = true;
  engine_->operation_ended(*this);
}

/// A hook runs beside the operation, so that the answer can leave on time whatever the hook does.
task<void> operation::run_hook(task<status> work, hook_state& state) {
  state.outcome = co_await std::move(work);
  state.running = false;
  state.done = true;
  --hooks_running_;
  progress_.set();
}

operation::hook_state& operation::spawn_hook(task<status> work, hook_kind which) {
  hook_state& state = hooks_[static_cast<std::size_t>(which)];
  state.running = true;
  state.done = false;
  ++hooks_running_;
  engine_->scope_->spawn(run_hook(std::move(work), state));
  return state;
}

/// Waits until `done` or until the operation must answer. True if done.
task<bool> operation::until(const bool& done) {
  while (!done && !out_of_time()) {
    progress_.reset();
    co_await progress_.wait();
  }
  co_return done;
}

}  // namespace scoll::detail
