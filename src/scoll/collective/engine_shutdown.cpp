#include "scoll/collective/admissions.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/end_requests.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/hook_name.hpp"
#include "scoll/collective/member_questions.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"

// How the collectives of a node end.
namespace scoll::detail {

void engine::abort_all(time_point by) noexcept {
  end_requests_->stop();
  bulks_->stop();
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->answered()) continue;
    op->end_by(end_cause::closing, {errc::closed, "this node is shutting down"});
    op->expire_by(by);
  }
}

task<void> engine::close_service(std::shared_ptr<service_entry> entry) {
  admissions_->end_service(*entry);
  co_await entry->users.close();
  remove_service(*entry);
}

task<status> engine::close_service(std::shared_ptr<service_entry> entry, nanoseconds limit) {
  const time_point begun = executor_.now();
  const time_point last_answers = saturating_add(begun, limit - limit / 4);
  const auto ended_by = [](time_point by) { return deadline_stop(deadline(by)); };
  admissions_->end_service(*entry);
  deadline_stop by_themselves = ended_by(saturating_add(begun, limit / 2));
  status ended = co_await entry->users.close(by_themselves.token());
  if (!ended) {
    each_operation_of(*entry, [&](operation& op) {
      if (!op.answered()) return op.close_by(last_answers);
      op.give_up_readers();
    });
    deadline_stop asked = ended_by(last_answers);
    ended = co_await entry->users.close(asked.token());
  }
  if (!ended) {
    each_operation_of(*entry, [](operation& op) {
      if (!op.answered()) return op.give_up_closed_part();
      op.give_up_readers();
    });
    deadline_stop over = ended_by(saturating_add(begun, limit));
    ended = co_await entry->users.close(over.token());
  }
  remove_service(*entry);
  if (ended) co_return status{};
  co_return make_error(errc::deadline_exceeded, "{} requests still use the service", entry->users.inside());
}

template <class Use>
void engine::each_operation_of(const service_entry& entry, Use&& use) {
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->subject_.service.get() == &entry) use(*op);
  }
}

void engine::remove_service(const service_entry& entry) {
  const auto found = services_.find(entry.table->id);
  if (found == services_.end() || found->second.get() != &entry) return;
  last_service_.reset();
  services_.erase(found);
}

std::size_t engine::admissions_waiting() const noexcept {
  return admissions_->waiting();
}

time_point engine::admissions_due() const noexcept {
  return admissions_->due();
}

void engine::refuse_waiting() noexcept {
  member_questions_->stop();
  admissions_->end_all(make_error(errc::closed, "node {} is shutting down", options_.id));
}

std::vector<std::string> engine::running_hooks() const {
  std::vector<std::string> names;
  auto& live = const_cast<intrusive_list<operation>&>(live_);
  for (operation* op = live.first(); op != nullptr; op = live.next(*op)) {
    for (const char* hook : op->running_hooks()) names.push_back(hook_name(op->table(), hook));
  }
  admissions_->add_running_hooks(names);
  return names;
}

task<void> engine::join() {
  if (live_operations_ == 0 && !admissions_->asking()) co_await scope_->join();
}

bool engine::try_join() noexcept {
  return live_operations_ == 0 && !admissions_->asking() && scope_->try_join();
}

}  // namespace scoll::detail
