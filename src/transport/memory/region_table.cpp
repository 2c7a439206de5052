#include "transport/memory/region_table.hpp"

#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/piece_server.hpp"
#include "transport/memory/piece_table.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

status check_range(std::uint64_t offset, std::uint64_t length, std::uint64_t size) noexcept {
  if (offset <= size && length <= size - offset) return {};
  return make_error(errc::invalid_argument, "{} bytes at offset {} of a region of {}", length, offset, size);
}

status check_access(memory_access granted, memory_order_kind wanted) noexcept {
  const bool get = is_get(wanted);
  if (permits(granted, get ? memory_access::read : memory_access::write)) return {};
  return error(errc::invalid_argument, get ? "the region may not be read" : "the region may not be written");
}

region_table::region_table(memory_service& owner, const endpoint_options& options,
                           piece_server& pieces) noexcept
    : owner_(owner),
      self_(options.self),
      incarnation_(options.incarnation),
      limit_(options.region_limit),
      pieces_(pieces) {}

region_table::~region_table() {
  for (const slot& s : slots_) {
    if (s.region != nullptr) s.region->table_ = nullptr;
  }
}

/// Gives a region a place. Null if there is none.
region_table::slot* region_table::open(memory_region& region) noexcept {
  if (free_ == 0 && slots_.size() >= limit_) return nullptr;
  if (free_ == 0) {
    slots_.emplace_back();
    free_ = static_cast<std::uint32_t>(slots_.size());
  }
  region.index_ = free_ - 1;
  slot& s = slots_[region.index_];
  free_ = s.next_free;
  s.region = &region;
  s.withdrawn = false;
  if (SCOLL_MUTANT(bulk_region_kept)) s.memory.clear();
  s.generation = region.generation_ = ++last_generation_;
  region.table_ = this;
  ++size_;
  return &s;
}

status region_table::add(memory_region& region, std::span<const std::span<std::byte>> segments) {
  slot* const s = open(region);
  if (s == nullptr) return no_place();
  for (const auto& segment : segments) s->memory.add(segment);
  region.size_ = s->memory.size();
  return {};
}

status region_table::add(memory_region& region, std::span<const std::span<std::byte>> segments,
                         const piece_options& options) {
  slot* const s = open(region);
  if (s == nullptr) return no_place();
  if (options.length_in_slots == 0) {
    for (const auto& segment : segments) s->memory.add(segment);
  }
  s->pieces = &pieces_.open(options, s->memory, segments);
  region.size_ = s->pieces->length();
  return {};
}

status region_table::no_place() const noexcept {
  return make_error(errc::busy, "{} memory regions are exposed: link.region_limit is {}", size_, limit_);
}

void region_table::remove(memory_region& region) noexcept {
  slot& s = slots_[region.index_];
  s.region = nullptr;
  if (s.pieces != nullptr) pieces_.close(*std::exchange(s.pieces, nullptr));
  if (!SCOLL_MUTANT(bulk_region_kept,
                    "the senders from a region and the receivers into it are not told when it ends"))
    s.memory.clear();
  s.next_free = free_;
  free_ = region.index_ + 1;
  --size_;
}

lent_memory& region_table::begin_withdrawal(memory_region& region) noexcept {
  slot& s = slots_[region.index_];
  s.withdrawn = true;
  return s.memory;
}

status region_table::check(const memory_head& head) const noexcept {
  if (head.incarnation != incarnation_ &&
      !SCOLL_MUTANT(bulk_incarnation_unchecked,
                    "a descriptor of an earlier life is taken for one of this life")) {
    return make_error(errc::stale_descriptor, "region of incarnation {} of node {}, this is {}",
                      head.incarnation, self_, incarnation_);
  }
  if (head.region >= slots_.size()) {
    return make_error(errc::not_found, "node {} has no region {}", self_, head.region);
  }
  const slot& s = slots_[head.region];
  const bool replaced = s.generation != head.generation &&
                        !SCOLL_MUTANT(bulk_generation_unchecked,
                                      "a descriptor is taken for the region that is exposed in its place");
  if (s.region == nullptr || s.withdrawn || replaced) {
    return make_error(errc::stale_descriptor, "region {} of node {} is no longer exposed", head.region,
                      self_);
  }
  if ((s.pieces != nullptr) != (head.operation == memory_order_kind::piece_get)) {
    return error(errc::invalid_argument, s.pieces != nullptr ? "the region is read piece by piece only"
                                                             : "the region is not exposed in pieces");
  }
  const auto allowed = check_access(s.region->access_, head.operation);
  if (!allowed && !SCOLL_MUTANT(bulk_access_unchecked, "a descriptor grants what it claims to grant"))
    return allowed;
  if (SCOLL_MUTANT(bulk_range_unchecked, "a descriptor is as long as it claims to be")) return {};
  return check_range(head.offset, head.length, s.region->size_);
}

}  // namespace scoll::transport
