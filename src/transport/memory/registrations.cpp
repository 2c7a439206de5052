#include "transport/memory/registrations.hpp"

#include <algorithm>
#include <utility>

#include "transport/session/link.hpp"

namespace scoll::transport {

registered_span::registered_span(rail& of, std::span<std::byte> memory) noexcept : memory_(memory) {
  for (std::size_t i = 0; memory_registrar* const one = of.registrar(i); ++i)
    rails_.emplace_back(*this, *one);
}

registered_span::~registered_span() {
  if (table_ != nullptr) table_->leave(*this);
}

const registration* registered_span::at(const memory_registrar& rail) const noexcept {
  const auto found = std::find_if(rails_.begin(), rails_.end(),
                                  [&](const place& p) { return p.valid && &p.registrar == &rail; });
  return found == rails_.end() ? nullptr : &*found;
}

void registered_span::add(memory_access access) noexcept {
  settled_.emplace();
  access_ = access;
  awaited_ = rails_.size();
  if (awaited_ == 0) return over();
  for (place& p : rails_) p.registrar.add(p, memory_, access);
}

void registered_span::remove() noexcept {
  settled_.emplace();
  removing_ = true;
  if (table_ != nullptr) table_->leave(*this);
  if (uses_ == 0) drop_places();
}

void registered_span::remove_alone() noexcept {
  alone_ = true;
  remove();
}

void registered_span::end_use() noexcept {
  if (--uses_ == 0 && removing_) drop_places();
}

void registered_span::drop_places() noexcept {
  awaited_ = static_cast<std::size_t>(
      std::count_if(rails_.begin(), rails_.end(), [](const place& p) { return p.valid; }));
  if (awaited_ == 0) return over();
  for (place& p : rails_) {
    if (std::exchange(p.valid, false)) p.registrar.remove(p);
  }
}

void registered_span::heard(const status& outcome) noexcept {
  if (!outcome && outcome_) outcome_ = outcome;
  if (--awaited_ == 0) over();
}

void registered_span::over() noexcept {
  if (alone_) {
    delete this;
    return;
  }
  settled_->set(outcome_);
}

registrations::~registrations() {
  for (const auto& [first, span] : spans_) span->table_ = nullptr;
}

/// The registered span that holds a byte; null if there is none.
registered_span* registrations::holder(const std::byte* at) const noexcept {
  const auto behind = spans_.upper_bound(at);
  if (behind == spans_.begin()) return nullptr;
  registered_span* const span = std::prev(behind)->second;
  return at < span->memory().data() + span->memory().size() ? span : nullptr;
}

bool registrations::is_free(std::span<const std::byte> memory) const noexcept {
  if (memory.empty()) return true;
  const auto behind = spans_.lower_bound(memory.data());
  const bool begins_within = behind != spans_.end() && behind->first < memory.data() + memory.size();
  return !begins_within && holder(memory.data()) == nullptr;
}

void registrations::enter(registered_span& span) {
  if (span.memory().empty()) return;
  spans_.emplace(span.memory().data(), &span);
  span.table_ = this;
}

void registrations::leave(registered_span& span) noexcept {
  spans_.erase(span.memory().data());
  span.table_ = nullptr;
}

registered_range registrations::find(const memory_registrar& rail, const lent_range& range) const noexcept {
  registered_range found;
  if (spans_.empty()) return found;
  const registration* keys = nullptr;
  std::uint64_t at = range.offset;
  while (found.size < range.size && found.count < most_extents) {
    std::span<std::byte> piece = range.memory->piece(at);
    if (piece.size() > range.size - found.size) piece = piece.first(range.size - found.size);
    registered_span* const span = holder(piece.data());
    if (span == nullptr || (found.span != nullptr && span != found.span)) break;
    if (keys == nullptr) keys = span->at(rail);
    const std::byte* const end = span->memory().data() + span->memory().size();
    if (keys == nullptr || piece.data() + piece.size() > end) break;
    found.span = span;
    const std::uint64_t into = static_cast<std::uint64_t>(piece.data() - span->memory().data());
    found.pieces[found.count++] = {piece, keys->local_key, keys->remote_key, keys->remote_address + into};
    found.size += static_cast<std::uint32_t>(piece.size());
    at += piece.size();
  }
  return found;
}

}  // namespace scoll::transport
