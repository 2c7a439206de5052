#include "scoll/collective/admissions.hpp"
#include "scoll/collective/end_requests.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/hook_name.hpp"
#include "scoll/collective/member_questions.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"

// How the collectives of a node end.
namespace scoll::detail {

void engine::abort_all(time_point by) noexcept {
  end_requests_->stop();
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->answered()) continue;
    op->end_by(end_cause::closing, {errc::closed, "this node is shutting down"});
    op->expire_by(by);
  }
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
