#pragma once

#include <optional>
#include <utility>

#include "scoll/collective/bcast.hpp"
#include "scoll/collective/group_state.hpp"
#include "scoll/coro/sleep.hpp"
#include "tools/scoll-sim/cluster/records.hpp"

// The broadcasts whose members stream their replies.
namespace scoll::sim {

/// The value that a merging service would have given: the contributions of the merged members.
bcast_result<tally> tallied(const broadcast_record& b, const status& how, const outcome& account);

template <class S>
task<bcast_result<tally>> collect_items(group<S> where, broadcast_record& b) {
  bcast_options options = b.options;
  if (b.stream->how.limit != 0 && b.addressed.size() > 1) options.collect_limit = b.stream->how.limit;
  auto all = co_await scoll::bcast(where, b.request, options);
  b.stream->over = !all && all.error() == errc::too_large;
  if (all.has_value()) {
    for (const auto& item : all->items) b.stream->take(item.rank, item.value);
  }
  co_return tallied(b, all.status(), all.outcome());
}

/// True until the broadcast has ended.
template <class S>
bool runs(const group<S>& where, const broadcast_record& b) {
  auto& running = where.state()->rooted->running;
  for (auto* op = running.first(); op != nullptr; op = running.next(*op)) {
    if (op->counter == b.counter) return true;
  }
  return false;
}

/// Reads the items as the plan says. The pauses of a slow reader end with the broadcast, whose time is that of its
/// last item.
template <class S>
task<bcast_result<tally>> read_items(group<S> where, broadcast_record& b) {
  stream_record& s = *b.stream;
  auto items = scoll::gather(where, b.request, b.options);
  for (;;) {
    auto item = co_await items.next();
    if (!item) break;
    s.take(item->rank, item->value);
    if (s.taken == s.how.leaves_after) {
      s.left = true;
      co_return tallied(b, errc::cancelled, outcome(static_cast<std::uint32_t>(b.members.size())));
    }
    if (s.how.pause.count() != 0 && runs(where, b)) co_await sleep_for(s.how.pause);
  }
  co_return tallied(b, items.status(), items.outcome());
}

/// Broadcasts, and gives the result as if the service merged its replies.
template <class S>
auto ask_all(const group<S>& where, broadcast_record& b) {
  if constexpr (detail::streams<S>) {
    return b.stream->how.collects ? collect_items(where, b) : read_items(where, b);
  } else {
    return scoll::bcast(where, b.request, b.options);
  }
}

}  // namespace scoll::sim
