#include "transport/session/exchange_table.hpp"

#include "scoll/coro/mutants.hpp"

namespace scoll::transport {
namespace {

constexpr std::uint32_t slot_of(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id);
}
constexpr std::uint32_t generation_of(std::uint64_t id) noexcept {
  return static_cast<std::uint32_t>(id >> 32);
}

}  // namespace

std::uint64_t exchange_table::add(exchange& waiter, std::size_t limit) {
  if (free_ == 0) {
    if (slots_.size() >= limit) return 0;
    slots_.emplace_back();
    free_ = static_cast<std::uint32_t>(slots_.size());
  }
  const std::uint32_t position = free_ - 1;
  slot& s = slots_[position];
  free_ = s.next_free;
  s.waiter = &waiter;
  return (static_cast<std::uint64_t>(s.generation) << 32) | position;
}

void exchange_table::remove(std::uint64_t id) noexcept {
  slot& s = slots_[slot_of(id)];
  s.waiter = nullptr;
  if (++s.generation == 0) s.generation = 1;  // no id is 0
  s.next_free = free_;
  free_ = slot_of(id) + 1;
}

void exchange_table::replace(std::uint64_t id, exchange& waiter) noexcept {
  slots_[slot_of(id)].waiter = &waiter;
}

exchange* exchange_table::find(std::uint64_t id) const noexcept {
  if (slot_of(id) >= slots_.size()) return nullptr;
  const slot& s = slots_[slot_of(id)];
  const bool present =
      s.generation == generation_of(id) ||
      SCOLL_MUTANT(reply_after_retire, "a reply goes to the present user of its exchange's slot");
  return present ? s.waiter : nullptr;
}

}  // namespace scoll::transport
