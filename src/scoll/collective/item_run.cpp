#include "scoll/collective/item_run.hpp"

#include <limits>

#include "transport/wire/byte_order.hpp"

namespace scoll::detail {

std::span<const std::byte> item_run::take_item() noexcept {
  const auto size = wire::detail::load_little<std::uint32_t>(items.data());
  const auto item = items.subspan(item_length_bytes, size);
  items = items.subspan(item_length_bytes + size);
  --count;
  return item;
}

void put_run_head(wire::writer& out, const item_run& run) noexcept {
  wire::put_varint(out, run.relative);
  wire::put_varint(out, run.first);
  wire::put_varint(out, 2 * std::uint64_t{run.count} + run.last);
}

item_run take_run(wire::reader& in) noexcept {
  const std::uint64_t relative = wire::take_varint(in);
  item_run run;
  run.first = wire::take_varint(in);
  const std::uint64_t packed = wire::take_varint(in);
  run.last = packed % 2 != 0;
  if (relative > std::numeric_limits<std::uint32_t>::max())
    in.fail(wire::defect::bad_value, "rank of a run of items", relative);
  if (packed / 2 > in.remaining() / item_length_bytes || packed == 0)
    in.fail(wire::defect::bad_value, "number of items", packed);
  if (!in.ok()) return {};
  run.relative = static_cast<std::uint32_t>(relative);
  run.count = static_cast<std::uint32_t>(packed / 2);
  const std::byte* const begin = in.take(0, "items");
  const std::byte* end = begin;
  for (std::uint32_t i = 0; i < run.count && in.ok(); ++i) {
    const std::size_t size = in.take_length("item");
    if (const std::byte* at = in.take(size, "item")) end = at + size;
  }
  run.items = {begin, static_cast<std::size_t>(end - begin)};
  return run;
}

}  // namespace scoll::detail
