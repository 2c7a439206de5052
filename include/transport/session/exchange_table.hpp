#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scoll::transport {

class exchange;

/// The exchanges of one session that wait for a reply, by the id that travels with request and reply. An id names a slot
/// and its generation, so that a reply which comes after its exchange has ended finds nobody, even if the slot is in use
/// again.
class exchange_table {
 public:
  /// A free id for `waiter`; 0 if `limit` slots are in use.
  std::uint64_t add(exchange& waiter, std::size_t limit);
  void remove(std::uint64_t id) noexcept;
  /// The exchange that waits under this id; null if none does any more. Any number may be asked for.
  exchange* find(std::uint64_t id) const noexcept;

  /// Slots ever in use at once.
  std::size_t slots() const noexcept { return slots_.size(); }

  /// Calls `visit(exchange&)` for every exchange, in the order of the slots; it may remove the one it is given.
  template <class Visitor>
  void each(Visitor&& visit) {
    for (slot& s : slots_) {
      if (s.waiter != nullptr) visit(*s.waiter);
    }
  }

 private:
  struct slot {
    exchange* waiter = nullptr;
    std::uint32_t generation = 1;
    std::uint32_t next_free = 0;
  };

  std::vector<slot> slots_;
  std::uint32_t free_ = 0;  // index + 1 of a free slot; 0: none
};

}  // namespace scoll::transport
