#include "transport/memory/memory_region.hpp"

#include <utility>
#include <vector>

#include "transport/memory/memory_service.hpp"
#include "transport/memory/piece_table.hpp"
#include "transport/memory/region_table.hpp"
#include "transport/memory/writable.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::transport {

void memory_region::take(memory_region& other) noexcept {
  table_ = std::exchange(other.table_, nullptr);
  generation_ = other.generation_;
  size_ = other.size_;
  index_ = other.index_;
  access_ = other.access_;
  if (table_ != nullptr) table_->moved(*this);
}

memory_region& memory_region::operator=(memory_region&& other) noexcept {
  if (this == &other) return *this;
  unexpose();
  take(other);
  return *this;
}

result<memory_region> memory_region::enter(endpoint& owner, std::span<const std::span<std::byte>> segments,
                                           memory_access access) {
  if (!wire_valid(access)) return error(errc::invalid_argument, "not a valid access mode");
  memory_region region;
  region.access_ = access;
  if (const auto s = owner.memory().regions().add(region, segments); !s) return s.error();
  return result<memory_region>(std::move(region));
}

result<memory_region> memory_region::expose(endpoint& owner, std::span<const std::byte> memory) {
  return expose(owner, as_writable(memory), memory_access::read);
}

result<memory_region> memory_region::expose(endpoint& owner, std::span<std::byte> memory,
                                            memory_access access) {
  return enter(owner, {&memory, 1}, access);
}

result<memory_region> memory_region::expose(endpoint& owner,
                                            std::span<const std::span<const std::byte>> segments) {
  return enter(owner, all_writable(segments), memory_access::read);
}

result<memory_region> memory_region::expose(endpoint& owner, std::span<const std::span<std::byte>> segments,
                                            memory_access access) {
  return enter(owner, segments, access);
}

result<memory_region> memory_region::expose_pieces(endpoint& owner, std::span<const std::byte> memory,
                                                   const piece_options& options) {
  const std::span<std::byte> same = as_writable(memory);
  return expose_pieces(owner, std::span<const std::span<std::byte>>(&same, 1), options);
}

result<memory_region> memory_region::expose_pieces(endpoint& owner,
                                                   std::span<const std::span<const std::byte>> segments,
                                                   const piece_options& options) {
  const auto same = all_writable(segments);
  return expose_pieces(owner, std::span<const std::span<std::byte>>(same), options);
}

result<memory_region> memory_region::expose_pieces(endpoint& owner,
                                                   std::span<const std::span<std::byte>> segments,
                                                   const piece_options& options) {
  if (const auto s = check_pieces(options, segments); !s) return s.error();
  memory_region region;
  if (const auto s = owner.memory().regions().add(region, segments, options); !s) return s.error();
  return result<memory_region>(std::move(region));
}

piece_table& memory_region::in_pieces() const noexcept {
  SCOLL_ASSERT(table_ != nullptr && table_->pieces(index_) != nullptr,
               "only a region that is exposed in pieces has pieces");
  return *table_->pieces(index_);
}

std::uint32_t memory_region::pieces() const noexcept {
  return in_pieces().count();
}

bool memory_region::published(std::uint32_t piece) const noexcept {
  return in_pieces().state(piece) == piece_table::piece_state::published;
}

void memory_region::publish(std::uint32_t piece, std::uint64_t checksum) noexcept {
  in_pieces().publish(piece, checksum);
}

void memory_region::retire(std::uint32_t piece) noexcept {
  in_pieces().retire(piece);
}

void memory_region::fail(const error& reason) noexcept {
  in_pieces().fail(reason);
}

void memory_region::unexpose() noexcept {
  if (region_table* const table = std::exchange(table_, nullptr)) table->remove(*this);
}

task<void> memory_region::withdraw() {
  if (table_ == nullptr) co_return;
  co_await table_->service().unpinned(table_->begin_withdrawal(*this));
  unexpose();
}

region_descriptor memory_region::descriptor() const noexcept {
  SCOLL_ASSERT(table_ != nullptr, "only an exposed region has a descriptor");
  region_descriptor d;
  d.node = table_->self();
  d.incarnation = table_->incarnation();
  d.generation = generation_;
  d.length = size_;
  d.region = index_;
  d.access = access_;
  return d;
}

}  // namespace scoll::transport
