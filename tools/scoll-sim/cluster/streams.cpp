#include "tools/scoll-sim/cluster/streams.hpp"

#include <algorithm>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"

namespace scoll::sim {

void stream_record::take(std::uint32_t rank, const stream_item& item) {
  ++taken;
  const std::uint32_t expected = came[rank]++;
  const bool intact =
      item.broadcast == how.broadcast && item.filler.size() == bytes_of(how, rank, item.number) &&
      std::ranges::all_of(item.filler, [&](std::uint8_t byte) { return byte == filling(how.broadcast); });
  if (!wrong.empty() || (intact && item.number == expected)) return;
  wrong = fmt::format("item {} of rank {} came after {} others{}", item.number, rank, expected,
                      intact ? "" : ", and is not what was put");
}

std::string stream_record::missing(const outcome& account) const {
  std::string text;
  account.merged().for_each([&](std::uint32_t rank) {
    const auto found = came.find(rank);
    const std::uint32_t count = found == came.end() ? 0 : found->second, all = items_of(how, rank);
    if (count != all) text = fmt::format("rank {} is merged, and {} of its {} items came", rank, count, all);
  });
  return text;
}

bcast_result<tally> tallied(const broadcast_record& b, const status& how, const outcome& account) {
  tally all;
  account.merged().for_each([&](std::uint32_t rank) {
    all.total += contribution(b.number, rank);
    all.entities += b.group->entities_at(b.group->members[rank]);
    ++all.members;
  });
  std::optional<tally> value;
  if (all.members != 0 && !b.stream->left) value = std::move(all);
  return {how, std::move(value), account};
}

events::reading cluster::stream_of(std::uint64_t broadcast) const {
  const auto found = terms_.readings.find(broadcast);
  return found != terms_.readings.end() ? found->second : events::reading{.broadcast = broadcast, .items = 3};
}

void cluster::has_put(std::uint64_t broadcast, bool waited) {
  const auto found = broadcasts_.find(broadcast);
  if (found == broadcasts_.end() || !found->second.stream) return;
  stream_record& s = *found->second.stream;
  ++s.put;
  s.most_ahead = std::max(s.most_ahead, s.put - s.taken);
  s.waited |= waited;
}

}  // namespace scoll::sim
