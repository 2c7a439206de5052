#include "scoll/collective/counter_ranges.hpp"

#include <algorithm>
#include <limits>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/varint.hpp"

namespace scoll::detail {

void add_counter(counter_ranges& to, std::uint64_t counter) {
  if (!to.empty() && to.back().last + 1 == counter) {
    to.back().last = counter;
  } else {
    to.push_back({counter, counter});
  }
}

bool contains(std::span<const counter_range> in, std::uint64_t counter) noexcept {
  const auto at = std::lower_bound(in.begin(), in.end(), counter,
                                   [](const counter_range& r, std::uint64_t c) { return r.last < c; });
  return at != in.end() && at->first <= counter;
}

counter_ranges difference(std::span<const counter_range> all, std::span<const counter_range> without) {
  counter_ranges left;
  auto hole = without.begin();
  for (counter_range rest : all) {
    while (hole != without.end() && hole->last < rest.first) ++hole;
    for (auto in = hole; in != without.end() && in->first <= rest.last; ++in) {
      if (in->first > rest.first) left.push_back({rest.first, in->first - 1});
      rest.first = in->last + 1;
      if (in->last >= rest.last) break;
    }
    if (rest.first != 0 && rest.first <= rest.last) left.push_back(rest);
  }
  return left;
}

std::size_t put_counters(wire::writer& out, std::span<const counter_range> ranges, std::size_t room) {
  const std::size_t end = out.needed() + room;
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const std::uint64_t distance = ranges[i].first - before;
    const std::uint64_t more = ranges[i].last - ranges[i].first;
    if (out.needed() + wire::varint_size(distance) + wire::varint_size(more) > end) return i;
    wire::put_varint(out, distance);
    wire::put_varint(out, more);
    before = ranges[i].last;
  }
  return ranges.size();
}

result<counter_ranges> take_counters(std::span<const std::byte> bytes) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - 1;
  wire::reader in(bytes);
  counter_ranges ranges;
  ranges.reserve(bytes.size() / 2);
  std::uint64_t before = 0;
  while (in.ok() && in.remaining() != 0) {
    const std::uint64_t distance = wire::take_varint(in);
    const std::uint64_t more = wire::take_varint(in);
    if (!in.ok()) break;
    const std::uint64_t least = ranges.empty() ? 1 : 2;
    if (distance < least || distance > most - before || more > most - before - distance)
      return error(errc::malformed, "ranges of counters that touch, or that are too large");
    before += distance;
    ranges.push_back({before, before + more});
    before += more;
  }
  if (!in.ok()) return in.error();
  return ranges;
}

}  // namespace scoll::detail
