#include "transport/memory/piece_table.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/memory/piece_server.hpp"
#include "transport/session/session.hpp"

namespace scoll::transport {

status check_pieces(const piece_options& options, std::span<const std::span<std::byte>> segments) noexcept {
  const std::uint32_t piece = options.piece_bytes;
  if (!std::has_single_bit(piece) || piece < least_piece_bytes || piece > most_piece_bytes) {
    return make_error(errc::invalid_argument, "pieces of {} bytes: a power of two from {} to {} is allowed",
                      piece, least_piece_bytes, most_piece_bytes);
  }
  std::uint64_t length = options.length_in_slots;
  if (length != 0) {
    const auto fits = [&](const auto& segment) { return segment.size() == piece; };
    if (options.complete) {
      return error(errc::invalid_argument,
                   "a region in slots cannot be complete: its memory does not hold all pieces");
    }
    if (segments.empty() || !std::ranges::all_of(segments, fits)) {
      return make_error(errc::invalid_argument, "slots for pieces of {} bytes must have that size", piece);
    }
  } else {
    for (const auto& segment : segments) length += segment.size();
  }
  if (length > std::uint64_t{most_pieces} * piece) {
    return make_error(errc::invalid_argument, "{} bytes are more than {} pieces of {} bytes", length,
                      most_pieces, piece);
  }
  return {};
}

piece_table::~piece_table() {
  server_.forget(returned_);
  server_.forget(hashing_);
}

void piece_table::begin(const piece_options& options, lent_memory& whole,
                        std::span<const std::span<std::byte>> slots) {
  options_ = options;
  whole_ = &whole;
  length_ = in_slots() ? options.length_in_slots : whole.size();
  const std::uint64_t pieces = (length_ + options.piece_bytes - 1) / options.piece_bytes;
  states_.assign(static_cast<std::size_t>(pieces), piece_state::absent);
  checksums_.assign(static_cast<std::size_t>(pieces), 0);
  failure_ = {};
  slot_count_ = in_slots() ? slots.size() : 0;
  while (slots_.size() < slot_count_) slots_.emplace_back();
  for (std::size_t i = 0; i < slot_count_; ++i) {
    slots_[i].memory.add(slots[i]);
    slots_[i].memory.on_returned(&given_back, this);
    slots_[i].used = false;
  }
}

void piece_table::end() noexcept {
  refuse_all({errc::stale_descriptor, "the region was withdrawn before the piece was there"});
  options_.events = nullptr;
  for (std::size_t i = 0; i < slot_count_; ++i) {
    slots_[i].memory.on_returned(nullptr, nullptr);
    slots_[i].memory.clear();
  }
  slot_count_ = 0;
  server_.forget(returned_);
  server_.forget(hashing_);
}

std::uint32_t piece_table::size_of(std::uint32_t piece) const noexcept {
  if (SCOLL_MUTANT(last_piece_not_shorter, "the last piece of an object counts as long as the others"))
    return options_.piece_bytes;
  const std::uint64_t begin = std::uint64_t{piece} * options_.piece_bytes;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(options_.piece_bytes, length_ - begin));
}

result<std::uint32_t> piece_table::piece_of(const memory_head& segment) const noexcept {
  const std::uint64_t piece = segment.offset / options_.piece_bytes;
  const bool whole = segment.offset % options_.piece_bytes == 0 && piece < count() &&
                     segment.length == size_of(static_cast<std::uint32_t>(piece));
  if (whole) return static_cast<std::uint32_t>(piece);
  return make_error(errc::invalid_argument, "{} bytes at offset {} are not a piece of {} bytes",
                    segment.length, segment.offset, options_.piece_bytes);
}

lent_range piece_table::range(std::uint32_t piece) noexcept {
  if (in_slots()) return {&slot_of(piece).memory, 0, size_of(piece)};
  return {whole_, std::uint64_t{piece} * options_.piece_bytes, size_of(piece)};
}

void piece_table::publish(std::uint32_t piece, std::uint64_t checksum) noexcept {
  SCOLL_ASSERT(piece < count() && states_[piece] == piece_state::absent,
               "a piece is published once, and the region has it");
  if (in_slots()) {
    slot& s = slot_of(piece);
    SCOLL_ASSERT(piece < slot_count_ || states_[piece - slot_count_] == piece_state::passed,
                 "the piece before it in its slot must be retired first");
    s.piece = piece;
  }
  states_[piece] = piece_state::published;
  checksums_[piece] = checksum;
  for (held_order* order = parked_.first(); order != nullptr;) {
    held_order& each = *std::exchange(order, parked_.next(*order));
    if (each.piece == piece && !SCOLL_MUTANT(piece_waiters_forgotten,
                                             "an order that waits for a piece is not answered when it comes"))
      server_.answer_parked(each);
  }
}

/// What still refers to the slot becomes a refusal, and so do orders that come later.
void piece_table::retire(std::uint32_t piece) noexcept {
  SCOLL_ASSERT(in_slots() && piece < count() && states_[piece] == piece_state::published,
               "a published piece of a region in slots is retired");
  states_[piece] = piece_state::passed;
  slot& s = slot_of(piece);
  s.memory.recall();
  s.used = false;
}

void piece_table::fail(const error& reason) noexcept {
  failure_ = reason;
  refuse_all(reason);
}

void piece_table::park(held_order& order) noexcept {
  order.table = this;
  parked_.push_back(order);
  if (options_.complete) server_.plan(hashing_);
}

/// Publishes the first piece that is waited for, and no more in this step, because a hash takes its time.
void piece_table::hash_next() noexcept {
  if (parked_.empty()) return;
  const std::uint32_t piece = parked_.front().piece;
  const lent_range at = range(piece);
  publish(piece, at.memory->checksum(at.offset, at.size));
  if (!parked_.empty()) server_.plan(hashing_);
}

std::size_t piece_table::parked_of(const session& peer) noexcept {
  std::size_t count = 0;
  for (held_order* order = parked_.first(); order != nullptr; order = parked_.next(*order))
    count += order->from() == &peer;
  return count;
}

std::size_t piece_table::most_parked_of_one() noexcept {
  std::size_t most = 0;
  for (held_order* order = parked_.first(); order != nullptr; order = parked_.next(*order))
    most = std::max(most, parked_of(*order->from()));
  return most;
}

void piece_table::refuse_all(const error& reason) noexcept {
  while (!parked_.empty()) {
    held_order& order = parked_.front();
    order.refuse(reason);
    server_.release_parked(order);
  }
}

void piece_table::drop_all_of(const session& peer) noexcept {
  for (held_order* order = parked_.first(); order != nullptr;) {
    held_order& each = *std::exchange(order, parked_.next(*order));
    if (each.from() != &peer) continue;
    each.drop();
    server_.release_parked(each);
  }
}

/// This is called from inside the release of a message; the work that follows must not be done there.
void piece_table::given_back(void* self) noexcept {
  auto& table = *static_cast<piece_table*>(self);
  table.server_.plan(table.returned_);
}

void piece_table::note_use(std::uint32_t piece, bool lent) noexcept {
  if (!in_slots()) return;
  slot_of(piece).used = true;
  if (!lent) server_.plan(returned_);
}

void piece_table::tell_returned() noexcept {
  for (std::size_t i = 0; i < slot_count_; ++i) {
    slot& s = slots_[i];
    if (!s.used || s.memory.borrowed()) continue;
    s.used = false;
    if (options_.events != nullptr) options_.events->on_returned(s.piece);
  }
}

}  // namespace scoll::transport
