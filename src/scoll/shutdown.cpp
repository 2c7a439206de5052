#include "scoll/shutdown.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/ship/shipper.hpp"

namespace scoll::detail {
namespace {

bool idle(engine& collectives, shipper& calls) noexcept {
  return collectives.work().empty() && calls.background().running() == 0;
}

/// Refuses new work and waits until nothing runs or the limit is over. It waits in turns, because background
/// work may make calls, and calls may end in the background.
task<void> wait_idle(engine& collectives, shipper& calls, time_point until) {
  deadline_stop limit{deadline(until)};
  do {
    const status left = co_await collectives.work().close(limit.token());
    const status ended = co_await calls.background().idle(limit.token());
    left.ignore();
    ended.ignore();
  } while (!idle(collectives, calls) && !limit.stop_requested());
}

std::vector<std::string> running(const engine& collectives, const shipper& calls) {
  std::vector<std::string> names = collectives.running_hooks();
  calls.add_running_handlers(names);
  return names;
}

}  // namespace

task<status> shut_down(engine& collectives, shipper& calls, nanoseconds limit) {
  const executor& ex = collectives.get_executor();
  const time_point begun_at = ex.now();
  if (!collectives.holding().open()) {
    collectives.holding().refuse({errc::closed, "this node is shutting down"});
  }
  collectives.stop_telling();
  collectives.refuse_waiting();
  co_await wait_idle(collectives, calls, begun_at + limit / 2);
  collectives.abort_all(begun_at + limit * 5 / 8);
  calls.abort();
  co_await wait_idle(collectives, calls, begun_at + limit * 3 / 4);
  calls.answer_all();
  collectives.stop_sweeping();
  const std::vector<std::string> stuck = running(collectives, calls);
  const nanoseconds left = std::max<nanoseconds>(limit / 8, begun_at + limit - ex.now());
  const status drained = co_await collectives.wire().drain(left);
  std::vector<const char*> working;
  if (collectives.has_pool()) {
    working = co_await collectives.pool().shutdown(limit / 8);
    co_await wait_idle(collectives, calls, ex.now() + limit / 8);  // for hooks that awaited the pool
  }
  co_await collectives.join();
  if (idle(collectives, calls) && working.empty()) co_return drained;
  std::string names;
  for (const std::string& name : stuck) names += " " + name;
  for (const char* name : working) names += fmt::format(" {} (on the pool)", name);
  co_return make_error(errc::deadline_exceeded, "hooks that have not returned:{}", names);
}

void bury(std::unique_ptr<engine> collectives, std::unique_ptr<shipper> calls) {
  static auto* const kept = new std::vector<std::pair<std::unique_ptr<engine>, std::unique_ptr<shipper>>>;
  if (calls->idle() && calls->try_join() && collectives->try_join()) {
    collectives.reset();  // its links tell the calls as they end
    return;
  }
  kept->emplace_back(std::move(collectives), std::move(calls));
}

}  // namespace scoll::detail
