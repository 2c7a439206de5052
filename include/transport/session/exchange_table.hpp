#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace scoll::transport {

class exchange;

/// The exchanges of one session that wait for a reply, by the id that travels with request and reply. An id
/// names a slot and its generation. So a reply that comes after its exchange has ended finds none, even if
/// the slot is in use again.
class exchange_table {
 public:
  /// Gives `waiter` a free id; 0 if `limit` slots are in use.
  std::uint64_t add(exchange& waiter, std::size_t limit);
  void remove(std::uint64_t id) noexcept;
  /// Another exchange waits under an id that is in use.
  void replace(std::uint64_t id, exchange& waiter) noexcept;
  /// The exchange that waits under an id; null if there is none. Any number is a valid argument.
  exchange* find(std::uint64_t id) const noexcept;

  /// The most slots that were in use at once.
  std::size_t slots() const noexcept { return slots_.size(); }

  /// Calls `visit(exchange&)` for every exchange in the order of slots. `visit` may remove the exchange it is
  /// given.
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
