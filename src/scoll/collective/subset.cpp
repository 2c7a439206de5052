#include "scoll/collective/subset.hpp"

#include "scoll/collective/membership.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/reader.hpp"
#include "transport/wire/varint.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::detail {

void subset::count() {
  starts_.reserve(ranks_.ranges().size());
  for (const rank_range& range : ranks_.ranges()) {
    starts_.push_back(size_);
    size_ += range.size();
  }
}

/// Writes the number of ranges, then for each the gap to the one before and its length.
status subset::encode() {
  encoded_.resize(max_subset_bytes);
  wire::writer out(encoded_);
  wire::put_varint(out, ranks_.ranges().size());
  std::uint32_t end = 0;
  for (const rank_range& range : ranks_.ranges()) {
    wire::put_varint(out, range.first - end);
    wire::put_varint(out, range.size());
    end = range.last;
  }
  if (!out.ok()) {
    return make_error(errc::too_large, "the ranks of a subset take {} bytes: at most {} fit", out.needed(),
                      max_subset_bytes);
  }
  encoded_.resize(out.needed());
  encoded_.shrink_to_fit();
  digest_ = wire::checksum(encoded_);
  return {};
}

result<subset_ptr> subset::make(rank_set ranks, std::uint32_t group_members) {
  if (ranks.empty()) return error(errc::invalid_argument, "a subset without members");
  if (const std::uint32_t beyond = ranks.ranges().back().last; beyond > group_members) {
    return make_error(errc::invalid_argument, "rank {} is not one of {} members", beyond - 1, group_members);
  }
  auto made = std::shared_ptr<subset>(new subset);
  made->ranks_ = std::move(ranks);
  made->count();
  if (const status s = made->encode(); !s) return s.error();
  return subset_ptr(std::move(made));
}

result<subset_ptr> subset::decode(std::span<const std::byte> bytes, std::uint32_t group_members) {
  const error bad(errc::malformed, "the ranks of a subset do not decode");
  wire::reader in(bytes);
  const std::uint64_t ranges = wire::take_varint(in);
  if (!in.ok() || ranges == 0 || ranges > bytes.size()) return bad;
  rank_set ranks;
  std::uint64_t end = 0;
  for (std::uint64_t i = 0; i < ranges; ++i) {
    const std::uint64_t gap = wire::take_varint(in);
    const std::uint64_t size = wire::take_varint(in);
    const bool sane = in.ok() && gap <= group_members && size != 0 && size <= group_members;
    if (!sane || (i != 0 && gap == 0) || end + gap + size > group_members) return bad;
    ranks.append(static_cast<std::uint32_t>(end + gap), static_cast<std::uint32_t>(end + gap + size));
    end += gap + size;
  }
  if (in.remaining() != 0) return bad;
  auto made = std::shared_ptr<subset>(new subset);
  made->ranks_ = std::move(ranks);
  made->count();
  made->encoded_.assign(bytes.begin(), bytes.end());
  made->digest_ = wire::checksum(bytes);
  return subset_ptr(std::move(made));
}

std::optional<std::uint32_t> subset::index_of(std::uint32_t rank) const noexcept {
  const auto& ranges = ranks_.ranges();
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), rank,
                       [](std::uint32_t r, const rank_range& range) { return r < range.last; });
  if (after == ranges.end() || after->first > rank) return std::nullopt;
  return starts_[static_cast<std::size_t>(after - ranges.begin())] + (rank - after->first);
}

}  // namespace scoll::detail
