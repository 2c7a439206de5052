#include "tools/scoll-sim/cluster/freights.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "scoll/collective/operation/bulk.hpp"
#include "scoll/collective/operation/operation.hpp"

namespace scoll::sim {
namespace {

bool is_loaded(lent_bytes& place, const std::vector<std::byte>& contents) {
  bool same = place.size() == contents.size();
  place.each([&](std::uint64_t offset, std::byte b) { same = same && b == contents[offset]; });
  return same;
}

}  // namespace

// ---- the root

void freights::announce(const events::freight& f) {
  if (f.parts == 0 || f.bytes > (std::uint64_t{1} << 28)) return;
  all_[f.broadcast].about = f;
}

void freights::load(std::uint64_t broadcast, bcast_options& options) {
  const auto found = all_.find(broadcast);
  if (found == all_.end() || found->second.sent) return;
  freight& f = found->second;
  f.sent = true;
  f.contents.resize(f.about.bytes);
  for (std::uint64_t i = 0; i < f.about.bytes; ++i) f.contents[i] = cargo(broadcast, i);
  f.lent = lent_bytes(f.about.bytes, f.about.parts);
  f.lent.load(broadcast, 0);
  f.parts = f.lent.pieces<const std::byte>();
  options.bulk = std::span<const std::span<const std::byte>>(f.parts);
  options.bulk_plan = bulk_plan::unchecked(f.about.plan, f.about.radix);
  options.bulk_piece_bytes = f.about.piece_bytes;
  options.bulk_time = f.bulk_time();
}

void freights::ended(std::uint64_t broadcast) {
  const auto found = all_.find(broadcast);
  if (found == all_.end()) return;
  freight& f = found->second;
  f.over = true;
  f.lent.fill(withdrawn);
}

void freights::keep(freight& of, std::unique_ptr<lent_bytes> place) {
  returned_.emplace_back(&of, std::move(place));
  if (returned_.size() <= most_kept) return;
  of.wrong.touched += !returned_.front().second->holds_only(withdrawn);
  returned_.pop_front();
}

void freights::look() noexcept {
  for (auto& [of, place] : returned_) of->wrong.touched += !place->holds_only(withdrawn);
  returned_.clear();
}

const freights::freight* freights::find(std::uint64_t broadcast) const {
  const auto found = all_.find(broadcast);
  return found == all_.end() || !found->second.sent ? nullptr : &found->second;
}

// ---- the members

status freights::place_for(std::uint64_t life, std::uint64_t broadcast, bcast_context& c) {
  const auto found = all_.find(broadcast);
  if (found == all_.end()) return {};
  berth& b = berths_[&c];
  b = {};
  b.life = life;
  b.of = &found->second;
  if (c.is_root()) return {};
  if (b.of->about.placeless.contains(c.rank())) {
    b.passes = detail::operation::passes_bulk(c) && c.bulk()->plan.can_pass() && c.bulk()->length != 0;
    return {};
  }
  b.memory = std::make_unique<lent_bytes>(c.bulk()->length, b.of->about.parts);
  b.memory->fill(never_filled);
  return c.receive_bulk(b.memory->pieces<std::byte>());
}

status freights::chunk_came(const bulk_chunk& chunk, const bcast_context& c) {
  const auto found = berths_.find(&c);
  if (found == berths_.end()) return {};
  berth& b = found->second;
  if (!b.chunks) {
    b.exposed = b.of->exposed.size();
    b.of->exposed.push_back({detail::operation::bulk_of(c)->head_for_children().from});
  }
  b.chunks = true;
  b.seen += chunk.bytes.size();
  const bool fits = chunk.offset + chunk.bytes.size() <= b.of->contents.size();
  if (!fits ||
      !std::ranges::equal(chunk.bytes, std::span(b.of->contents).subspan(chunk.offset, chunk.bytes.size())))
    ++b.of->wrong.altered_chunks;
  if ((b.memory != nullptr || b.passes) && b.of->about.altering.contains(c.rank()) && !chunk.bytes.empty()) {
    // The place is this member's own. NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast)
    const_cast<std::byte&>(chunk.bytes.front()) ^= std::byte{0x80};
    b.altered = true;
  }
  if (b.of->about.spoiling.contains(c.rank())) return error(errc::io_error, "told to refuse a chunk");
  return {};
}

nanoseconds freights::stands_still(const bulk_chunk& chunk, const bcast_context& c) {
  const auto found = berths_.find(&c);
  if (found == berths_.end() || chunk.offset == 0) return nanoseconds(0);
  berth& b = found->second;
  if (c.is_root() || b.stood || !b.of->about.standing.contains(c.rank())) return nanoseconds(0);
  b.stood = true;
  return b.of->stands_for();
}

void freights::bulk_failed(const bcast_context& c) noexcept {
  const auto found = berths_.find(&c);
  if (found != berths_.end()) found->second.failed = true;
}

void freights::unloads(const bcast_context& c) {
  const auto found = berths_.find(&c);
  if (found == berths_.end()) return;
  berth& b = found->second;
  b.executed = true;
  const bool complete = (b.memory == nullptr || b.altered || is_loaded(*b.memory, b.of->contents)) &&
                        (!b.chunks || b.seen == b.of->contents.size());
  b.of->wrong.early_executions += !complete;
  b.of->arrived |= complete && !c.is_root();
  b.of->passed |= complete && b.passes;
}

void freights::place_returned(const bcast_context& c) noexcept {
  const auto found = berths_.find(&c);
  if (found == berths_.end()) return;
  berth& b = found->second;
  const bool given = b.memory != nullptr;
  b.of->wrong.untold += (given || b.passes) && !b.executed && !b.failed;
  b.of->wrong.mistold += b.executed && b.failed;
  b.of->came_back = world_.now();
  if (b.exposed) b.of->exposed[*b.exposed].withdrawn = true;
  if (const auto* const bulk = detail::operation::bulk_of(c); bulk != nullptr) {
    b.of->wrong.risen += bulk->risen();
    b.of->risen_of[c.rank()] += bulk->risen();
  }
  if (given) {
    b.memory->fill(withdrawn);
    keep(*b.of, std::move(b.memory));
  }
  berths_.erase(found);
}

std::size_t freights::places_of(std::uint64_t life) const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(berths_, [&](const auto& b) { return b.second.life == life; }));
}

}  // namespace scoll::sim
