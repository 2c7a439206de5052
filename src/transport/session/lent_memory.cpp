#include "transport/session/lent_memory.hpp"

#include <algorithm>
#include <cstring>

#include "scoll/coro/mutants.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

void lent_memory::add(std::span<std::byte> piece) {
  if (piece.empty()) return;
  if (size_ == 0) {
    first_ = piece;
  } else {
    more_.push_back({size_, piece});
  }
  size_ += piece.size();
}

void lent_memory::clear() noexcept {
  recall();
  first_ = {};
  more_.clear();
  size_ = 0;
}

void lent_memory::recall() noexcept {
  let_go();
  while (!pins_.empty()) {
    borrower& each = pins_.pop_front();
    each.recalled_(each);
    each.memory_ = nullptr;
  }
}

void lent_memory::let_go() noexcept {
  while (!borrowers_.empty()) {
    borrower& each = borrowers_.pop_front();
    const bool sends = each.recalled_ != nullptr;
    const bool untold =
        (SCOLL_MUTANT(bulk_sending_unrecalled,
                      "sending from memory of several pieces goes on after its recall") &&
         sends) ||
        (SCOLL_MUTANT(bulk_landing_unrecalled, "data arrives in memory of several pieces after its recall") &&
         !sends);
    if (untold && !more_.empty()) {  // a single piece may be the library's own memory, which is freed
      auto* const as_before = new lent_memory;
      as_before->first_ = first_;
      as_before->size_ = size_;
      as_before->more_ = more_;
      each.borrow(*as_before);
      continue;
    }
    if (each.recalled_ != nullptr) each.recalled_(each);
    each.memory_ = nullptr;
  }
}

std::span<std::byte> lent_memory::piece(std::uint64_t offset) const noexcept {
  if (offset < first_.size()) return first_.subspan(static_cast<std::size_t>(offset));
  const auto behind = std::upper_bound(more_.begin(), more_.end(), offset,
                                       [](std::uint64_t at, const extent& e) { return at < e.begin; });
  if (behind == more_.begin() || offset >= size_) return {};
  const extent& e = *std::prev(behind);
  return e.bytes.subspan(static_cast<std::size_t>(offset - e.begin));
}

void lent_memory::copy_out(std::uint64_t offset, std::span<std::byte> into) const noexcept {
  while (!into.empty()) {
    const auto from = piece(offset);
    const std::size_t n = std::min(from.size(), into.size());
    SCOLL_ASSERT(n != 0, "lent memory is used beyond its end");
    std::memcpy(into.data(), from.data(), n);
    into = into.subspan(n);
    offset += n;
  }
}

void lent_memory::copy_in(std::uint64_t offset, std::span<const std::byte> from) noexcept {
  while (!from.empty()) {
    const auto into = piece(offset);
    const std::size_t n = std::min(from.size(), into.size());
    SCOLL_ASSERT(n != 0, "lent memory is used beyond its end");
    std::memcpy(into.data(), from.data(), n);
    from = from.subspan(n);
    offset += n;
  }
}

std::uint64_t lent_memory::checksum(std::uint64_t offset, std::uint64_t length) const noexcept {
  const auto together = piece(offset);
  if (together.size() >= length) return wire::checksum(together.first(static_cast<std::size_t>(length)));
  wire::checksum_stream sum;
  while (length != 0) {
    auto next = piece(offset);
    SCOLL_ASSERT(!next.empty(), "lent memory is used beyond its end");
    if (next.size() > length) next = next.first(static_cast<std::size_t>(length));
    sum.add(next);
    offset += next.size();
    length -= next.size();
  }
  return sum.value();
}

}  // namespace scoll::transport
