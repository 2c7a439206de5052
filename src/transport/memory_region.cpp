#include "../../include/transport/memory_region.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "../../include/coro/error_format.hpp"
#include "../../include/transport/endpoint.hpp"
#include "memory_service.hpp"
#include "region_table.hpp"

namespace scoll::transport {
namespace {

status check_segments(std::size_t count) noexcept {
  if (count <= memory_region::max_segments) return {};
  return make_error(errc::invalid_argument, "{} segments in a region: at most {} are allowed", count,
                    memory_region::max_segments);
}

/// Read access is all that regions of constant memory ever have.
std::span<std::byte> writable(std::span<const std::byte> memory) noexcept {
  return {const_cast<std::byte*>(memory.data()), memory.size()};
}

}  // namespace

void memory_region::add(std::span<std::byte> memory) noexcept {
  if (memory.empty()) return;
  segments_[segment_count_++] = {memory.data(), memory.size()};
  size_ += memory.size();
}

void memory_region::take(memory_region& other) noexcept {
  table_ = std::exchange(other.table_, nullptr);
  generation_ = other.generation_;
  size_ = other.size_;
  index_ = other.index_;
  access_ = other.access_;
  segment_count_ = other.segment_count_;
  segments_ = other.segments_;
  if (table_ != nullptr) table_->moved(*this);
}

memory_region& memory_region::operator=(memory_region&& other) noexcept {
  if (this == &other) return *this;
  unexpose();
  take(other);
  return *this;
}

result<memory_region> memory_region::enter(endpoint& owner, memory_region region, memory_access access) {
  if (!wire_valid(access)) return error(errc::invalid_argument, "a region needs an access");
  region.access_ = access;
  if (const auto s = owner.memory().regions().add(region); !s) return s.error();
  return result<memory_region>(std::move(region));
}

result<memory_region> memory_region::expose(endpoint& owner, std::span<const std::byte> memory) {
  return expose(owner, writable(memory), memory_access::read);
}

result<memory_region> memory_region::expose(endpoint& owner, std::span<std::byte> memory,
                                            memory_access access) {
  memory_region region;
  region.add(memory);
  return enter(owner, std::move(region), access);
}

result<memory_region> memory_region::expose(endpoint& owner,
                                            std::span<const std::span<const std::byte>> segments) {
  if (const auto s = check_segments(segments.size()); !s) return s.error();
  memory_region region;
  for (const auto& memory : segments) region.add(writable(memory));
  return enter(owner, std::move(region), memory_access::read);
}

result<memory_region> memory_region::expose(endpoint& owner, std::span<const std::span<std::byte>> segments,
                                            memory_access access) {
  if (const auto s = check_segments(segments.size()); !s) return s.error();
  memory_region region;
  for (const auto& memory : segments) region.add(memory);
  return enter(owner, std::move(region), access);
}

void memory_region::unexpose() noexcept {
  if (region_table* const table = std::exchange(table_, nullptr)) table->remove(*this);
}

region_descriptor memory_region::descriptor() const noexcept {
  SCOLL_ASSERT(table_ != nullptr, "the descriptor of a region that is not exposed");
  region_descriptor d;
  d.node = table_->self();
  d.incarnation = table_->incarnation();
  d.generation = generation_;
  d.length = size_;
  d.region = index_;
  d.access = access_;
  return d;
}

template <class Use>
void memory_region::visit(std::uint64_t offset, std::size_t length, Use&& use) const {
  for (const segment& s : std::span(segments_).first(segment_count_)) {
    if (length == 0) return;
    if (offset >= s.size) {
      offset -= s.size;
      continue;
    }
    const std::size_t n = std::min(length, s.size - static_cast<std::size_t>(offset));
    use(std::span(s.data + offset, n));
    length -= n;
    offset = 0;
  }
}

void memory_region::copy_out(std::uint64_t offset, std::span<std::byte> into) const noexcept {
  std::byte* to = into.data();
  visit(offset, into.size(), [&to](std::span<const std::byte> piece) {
    std::memcpy(to, piece.data(), piece.size());
    to += piece.size();
  });
}

void memory_region::copy_in(std::uint64_t offset, std::span<const std::byte> from) noexcept {
  const std::byte* next = from.data();
  visit(offset, from.size(), [&next](std::span<std::byte> piece) {
    std::memcpy(piece.data(), next, piece.size());
    next += piece.size();
  });
}

}  // namespace scoll::transport
