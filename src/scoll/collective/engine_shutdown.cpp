#include <algorithm>
#include <chrono>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/sleep.hpp"

// How a node ends.
namespace scoll::detail {

void engine::abort_all(time_point by) noexcept {
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
  if (beside_ != nullptr) beside_->names_of_stuck(names);
  return names;
}

task<status> engine::shutdown(nanoseconds limit) {
  const time_point begun_at = executor_.now();
  closing_ = true;
  if (!hold_.open()) hold_.refuse({errc::closed, "this node is shutting down"});
  if (beside_ != nullptr) beside_->close();
  co_await wait_idle(begun_at + limit / 2);
  abort_all(begun_at + limit * 5 / 8);
  if (beside_ != nullptr) beside_->abort();
  co_await wait_idle(begun_at + limit * 3 / 4);
  if (beside_ != nullptr) beside_->answer_all();
  end_all_leases();
  const std::vector<std::string> stuck = running_hooks();
  const nanoseconds left = std::max<nanoseconds>(limit / 8, begun_at + limit - executor_.now());
  const status drained = co_await endpoint_.drain(left);
  std::vector<const char*> working;
  if (pool_ != nullptr) {
    working = co_await pool_->shutdown(limit / 8);
    co_await wait_idle(executor_.now() + limit / 8);  // for hooks that awaited the pool
  }
  if (live_operations_ == 0) co_await scope_->join();
  if (idle() && working.empty()) co_return drained;
  std::string names;
  for (const std::string& name : stuck) names += " " + name;
  for (const char* name : working) names += fmt::format(" {} (on the pool)", name);
  co_return make_error(errc::deadline_exceeded, "hooks that have not returned:{}", names);
}

bool engine::end(std::unique_ptr<engine> done) {
  static auto* const kept = new std::vector<std::unique_ptr<engine>>;
  const bool part_ended = done->beside_ == nullptr || (done->beside_->idle() && done->beside_->try_join());
  if (done->operations() == 0 && part_ended && done->scope_->try_join()) return true;
  kept->push_back(std::move(done));
  return false;
}

bool engine::idle() const noexcept {
  return live_operations_ == 0 && (beside_ == nullptr || beside_->idle());
}

task<void> engine::wait_idle(time_point until) {
  constexpr nanoseconds poll = std::chrono::milliseconds(1);
  while (!idle() && executor_.now() < until) co_await sleep_for(poll);
}

}  // namespace scoll::detail
