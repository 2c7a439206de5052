#pragma once

#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "member.hpp"

namespace bench {

/// Carries out an order with operations that need no thread of their own, as many at once or as often as it says.
/// `caller.begin(i)` begins one. `caller.await(until_ns, ended)` returns at that time or after some operations have
/// ended, and calls `ended(i)` for each of them. An operation that has to wait for its turn is late from the time at
/// which it was due.
template <class Caller>
void carry_out(Caller& caller, member& me, const order& o) {
  std::vector<std::int64_t> began(o.operations);
  std::uint32_t begun = 0;
  std::uint32_t ended = 0;
  const std::int64_t start = now_ns();
  const auto due = [&](std::uint32_t i) { return start + std::int64_t{o.gap_ns} * i; };
  const auto begin_next = [&](std::int64_t at) {
    began[begun] = at;
    caller.begin(begun++);
  };
  while (ended < o.operations) {
    if (o.gap_ns == 0) {
      while (begun < o.operations && begun - ended < o.in_flight) begin_next(now_ns());
    } else {
      for (const std::int64_t now = now_ns(); begun < o.operations && due(begun) <= now;)
        begin_next(due(begun));
    }
    const bool waits = o.gap_ns != 0 && begun < o.operations;
    caller.await(waits ? due(begun) : INT64_MAX, [&](std::uint32_t i) {
      me.note(i, began[i], now_ns());
      ++ended;
    });
  }
}

}  // namespace bench
