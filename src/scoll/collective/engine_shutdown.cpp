#include "scoll/collective/end_requests.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"

// How the collectives of a node end.
namespace scoll::detail {

void engine::abort_all(time_point by) noexcept {
  end_requests_->stop();
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->answered()) continue;
    op->end_by(end_cause::cancelled);
    op->expire_by(by);
  }
}

std::vector<std::string> engine::running_hooks() const {
  std::vector<std::string> names;
  auto& live = const_cast<intrusive_list<operation>&>(live_);
  for (operation* op = live.first(); op != nullptr; op = live.next(*op)) {
    const service_table& table = op->table();
    const std::string service = table.name.empty()
                                    ? fmt::format("service {:#06x}", static_cast<std::uint32_t>(table.id))
                                    : std::string(table.name);
    for (const char* hook : op->running_hooks()) names.push_back(fmt::format("{}::{}", service, hook));
  }
  return names;
}

task<void> engine::join() {
  if (live_operations_ == 0) co_await scope_->join();
}

bool engine::try_join() noexcept {
  return live_operations_ == 0 && scope_->try_join();
}

}  // namespace scoll::detail
