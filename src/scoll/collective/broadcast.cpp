#include "scoll/detail/broadcast.hpp"

#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/operation.hpp"

namespace scoll::detail {

broadcast::broadcast(any_group to, const service_table& table, const void* request,
                     const bcast_options& options)
    : group_(std::move(to)),
      begun_(group_.get_engine().begin_broadcast(group_.to(), table, request, options)),
      stop_(options.stop),
      limit_(options.deadline) {}

broadcast::~broadcast() {
  if (!made()) return;
  if (!started_) begun_.op->abandon();
  group_.get_engine().release(*begun_.op);
}

bool broadcast::ready() noexcept {
  engine& by = group_.get_engine();
  if (!made() || limit_.unlimited() || !limit_.over(by.get_executor().now())) return made();
  begun_.op->abandon();
  by.release(*begun_.op);
  begun_ = {nullptr, {errc::deadline_exceeded, "no time was left before the broadcast began"}};
  return false;
}

void broadcast::start(std::coroutine_handle<> waiter) {
  started_ = true;
  begun_.op->start(waiter, stop_);
}

status broadcast::result_status() const {
  return made() ? begun_.op->result_status() : status(begun_.reason);
}

void* broadcast::value() const noexcept {
  return made() ? begun_.op->value() : nullptr;
}

outcome broadcast::take_outcome() {
  return made() ? begun_.op->take_outcome() : group_.get_engine().nothing_sent(group_.to(), begun_.reason);
}

}  // namespace scoll::detail
