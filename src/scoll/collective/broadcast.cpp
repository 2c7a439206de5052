#include "scoll/detail/broadcast.hpp"

#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/operation.hpp"

namespace scoll::detail {

static begun begin_in(const any_group& to, const service_table& table, const void* request,
                      const bcast_options& options) {
  if (to.valid()) return to.get_engine().begin_broadcast(to.to(), table, request, options);
  return {
      nullptr,
      {errc::invalid_argument, "the group is empty: take one from create_group, adopt_group or find_group"}};
}

broadcast::broadcast(any_group to, const service_table& table, const void* request,
                     const bcast_options& options)
    : group_(std::move(to)), begun_(begin_in(group_, table, request, options)), options_(options) {}

broadcast::~broadcast() {
  if (!made()) return;
  if (!started_) begun_.op->abandon();
  group_.get_engine().release(*begun_.op);
}

void broadcast::ask_for(node_id caller, std::string_view name) noexcept {
  if (made()) begun_.op->ask_for(caller, name);
}

bool broadcast::ready() noexcept {
  const time_limit limit = options_.deadline;
  if (!made() || limit.unlimited()) return made();
  engine& by = group_.get_engine();
  if (!limit.over(by.get_executor().now())) return true;
  begun_.op->abandon();
  by.release(*begun_.op);
  begun_ = {nullptr, {errc::deadline_exceeded, "no time was left before the broadcast began"}};
  return false;
}

void broadcast::start(std::coroutine_handle<> waiter) {
  started_ = true;
  if (engine& e = group_.get_engine(); !e.holding().open()) return e.spawn(start_when_released(waiter));
  begun_.op->start(waiter, options_.stop);
}

/// Waits until the node may begin broadcasts. The wait also ends when the caller stops it, or when the engine
/// ends the operation, because its group was revoked, say.
static task<status> pass_hold(engine& e, operation& op, deadline until, stop_token by_caller) {
  stop_source stop;
  const auto fire = [](void* source) noexcept { static_cast<stop_source*>(source)->request_stop(); };
  const stop_callback caller(by_caller, fire, &stop), early(op.early_end(), fire, &stop);
  status passed = co_await e.holding().pass(until, stop.token());
  co_return passed;
}

task<void> broadcast::start_when_released(std::coroutine_handle<> waiter) {
  engine& e = group_.get_engine();
  const deadline until = options_.deadline.from(e.get_executor().now());
  const status released = co_await pass_hold(e, *begun_.op, until, options_.stop);
  error why = e.why_not_now(group_.to(), options_);
  if (!why) why = begun_.op->early_reason();
  if (!why && !released) why = released.error();
  if (!why) {
    begun_.op->set_limit(until);
    begun_.op->start(waiter, options_.stop);
    co_return;
  }
  begun_.op->abandon();
  e.release(*begun_.op);
  begun_ = {nullptr, why};
  refused_.set(waiter);
  e.get_executor().schedule(refused_);
}

void broadcast::deliver_to(item_gather& reader) noexcept {
  if (made()) begun_.op->deliver_to(reader);
}

void broadcast::end_early() noexcept {
  if (made()) begun_.op->end_by(end_cause::cancelled);
}

status broadcast::result_status() const {
  return made() ? begun_.op->result_status() : status(begun_.reason);
}

void* broadcast::value() const noexcept {
  return made() ? begun_.op->value() : nullptr;
}

outcome broadcast::take_outcome() {
  if (made()) return begun_.op->take_outcome();
  return group_.valid() ? group_.get_engine().nothing_sent(group_.to(), begun_.reason) : outcome();
}

std::shared_ptr<rest_of_broadcast> broadcast::rest() const {
  return made() ? begun_.op->rest() : nullptr;
}

std::shared_ptr<const collective_trace> broadcast::trace() const {
  return made() ? begun_.op->trace() : nullptr;
}

std::optional<bulk_report> broadcast::bulk() const {
  return made() ? begun_.op->bulk() : std::nullopt;
}

}  // namespace scoll::detail
