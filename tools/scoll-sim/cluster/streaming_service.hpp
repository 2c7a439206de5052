#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "scoll/collective/parts.hpp"
#include "tools/scoll-sim/cluster/job.hpp"

namespace scoll::sim {

/// An item that a member streams.
struct stream_item {
  std::uint64_t broadcast = 0;
  std::uint32_t number = 0;
  std::vector<std::uint8_t> filler;
};

/// The number of items that a member puts, and the bytes of the filler of each.
constexpr std::uint32_t items_of(const events::reading& r, std::uint32_t rank) {
  return static_cast<std::uint32_t>(contribution(r.broadcast, rank) % (std::uint64_t{r.items} + 1));
}
constexpr std::uint32_t bytes_of(const events::reading& r, std::uint32_t rank, std::uint32_t number) {
  const std::uint32_t half = r.bytes / 2;
  return half + static_cast<std::uint32_t>(contribution(r.broadcast + number, rank) % (half + 1));
}

/// Puts the items of one member, after its work.
inline task<status> put_items(ledger& log, const job& j, bcast_context& c, part_sink<stream_item>& out) {
  const execution present(log, j, c);
  const nanoseconds work = log.work_of(j.broadcast, c.rank(), std::chrono::microseconds(j.work_us));
  if (work.count() != 0) {
    stop_token stop = c.stop();
    if (deaf(j.broadcast)) stop = {};
    const status slept = co_await sleep_for(work, stop);
    if (!slept) co_return slept;
  }
  const events::reading shape = log.stream_of(j.broadcast);
  const std::uint32_t count = items_of(shape, c.rank());
  const bool oversized = holds(j.oversized, c.rank());
  for (std::uint32_t i = 0; i < count + oversized; ++i) {
    stream_item next{j.broadcast, i, {}};
    next.filler.assign(i == count ? max_item_bytes : bytes_of(shape, c.rank(), i), filling(j.broadcast));
    const time_point before = c.get_executor().now();
    const status taken = co_await out.put(next);
    if (!taken) co_return taken;
    log.has_put(j.broadcast, c.get_executor().now() != before);
  }
  const result<tally> ended = present.outcome(j, c);
  co_return ended ? status() : ended.error();
}

/// A service whose members stream their replies, of which the hosts have two versions.
template <std::uint16_t Version>
struct streaming_service {
  static constexpr service_id id{0x0306};
  static constexpr std::uint16_t version = Version;
  static constexpr std::string_view name = "streaming";
  static constexpr nanoseconds processing_bound = std::chrono::milliseconds(1500);
  using request = job;
  using reply = parts<stream_item>;
  ledger* log = nullptr;
  std::uint64_t life = 0;

  task<result<membership_ptr>> members(std::uint64_t group) const { return name_members(*log, life, group); }
  task<status> execute(const job& j, bcast_context& c, part_sink<stream_item>& out) {
    return put_items(*log, j, c, out);
  }
};

}  // namespace scoll::sim
