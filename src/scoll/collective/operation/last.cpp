#include <algorithm>

#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/mutants.hpp"

// The last broadcast of a root to a group: it leaves when the earlier ones have ended.
namespace scoll::detail {

/// True on the root of a last broadcast.
bool operation::is_last() const noexcept {
  return subject_.is_root() && (subject_.head.flags & collective_head::last) != 0;
}

/// True if an earlier broadcast of this root runs. An operation that has not been started does not count: it
/// will end with `stale` as soon as it is started.
bool operation::earlier_ones_run() noexcept {
  if (SCOLL_MUTANT(last_overtakes, "the last broadcast of a root does not wait for its earlier ones"))
    return false;
  auto& running = subject_.group->rooted->running;
  for (rooted_operation* op = running.first(); op != nullptr && op != this; op = running.next(*op)) {
    if (static_cast<operation*>(op)->stage_ == stage::running) return true;
  }
  return false;
}

/// Waits until the earlier broadcasts of this root have ended. Without a deadline the time of this one begins
/// only then.
task<void> operation::after_earlier_ones() {
  while (earlier_ones_run() && !out_of_time()) {
    progress_.reset();
    co_await progress_.wait();
  }
  if (!times_.by_deadline) {
    const time_point by = times_.expires;  // set if the node is shutting down
    times_.begin_as_root(engine_->executor_.now(), subject_.levels(), finishing_time());
    times_.expires = std::min(times_.expires, by);
    rearm();
  }
  subject_.head.watermark = subject_.group->watermark();
}

/// Tells the last broadcast that an earlier one has ended.
void operation::wake_last() noexcept {
  auto& [running, last] = *subject_.group->rooted;
  for (rooted_operation* op = running.first(); op != nullptr; op = running.next(*op)) {
    if (op->counter == last) static_cast<operation*>(op)->progress_.set();
  }
}

}  // namespace scoll::detail
