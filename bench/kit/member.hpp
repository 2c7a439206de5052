#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "scoll/bulk/plan.hpp"

namespace bench {

/// A task for the first process of a group.
struct order {
  std::uint32_t operations = 0;
  std::uint32_t in_flight = 1;   ///< number of concurrent operations
  std::uint32_t gap_ns = 0;      ///< begin one so often, whatever has become of the others; 0: as others end
  std::uint32_t trace = 0;       ///< note when every process was reached, which costs time
  std::uint32_t background = 0;  ///< with bulk traffic at the same time
  std::uint32_t stamped = 0;     ///< broadcasts with a trace
  std::uint32_t repaired = 0;    ///< broadcasts that would be repaired after a loss
  std::uint32_t quorum = 0;      ///< await the replies of so many members; 0: of all
};

/// Measured processes end by themselves after this many seconds, even if their parent has forgotten them.
constexpr unsigned longest_life_s = 1800;

/// What one reactor of a process with several of them shows.
struct reactor_page {
  std::atomic<std::uint32_t> port{0};
  std::atomic<std::uint64_t> messages{0};
};
constexpr std::uint32_t most_reactors = 8;

/// The data that a process shows to all others of its group, in shared memory.
struct alignas(128) member_page {
  std::atomic<std::int32_t> pid{0};       ///< for a guest, and for a process that another one kills
  std::atomic<bool> may_end{false};       ///< its end is part of what is measured
  std::atomic<std::uint32_t> counted{0};  ///< true when the usage of a guest is being counted
  std::atomic<std::uint32_t> port{0};     ///< where it listens; 0: not yet
  std::atomic<std::uint32_t> ready{0};
  std::atomic<std::int64_t> reached_ns{0};  ///< when it received the latest message
  // The process itself counts these, since its start.
  std::atomic<std::uint64_t> syscalls{0};
  std::atomic<std::uint64_t> allocations{0};
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> background_bytes{0};
  std::atomic<std::uint64_t> notices{0};
  std::array<reactor_page, most_reactors> reactors{};
  // The root sets these after each broadcast with bulk data.
  std::atomic<scoll::bulk_plan> plan{};
  std::atomic<std::uint32_t> piece_bytes{0};
  std::atomic<std::uint64_t> predicted_ns{0};
};

/// The report of the first process about the latest order.
struct report_page {
  static constexpr std::uint32_t capacity = 1U << 20;
  std::atomic<std::uint32_t> count{0};
  std::atomic<bool> over{false};  ///< the processes are being killed: errors from now on mean nothing
  std::uint32_t latency_ns[capacity];
  std::uint32_t last_reached_ns[capacity];  ///< with `trace`
};

/// A process of a group, from its own point of view. Functions throw on failure.
class member {
 public:
  member(std::uint32_t index, std::span<member_page> pages, report_page& report, int orders)
      : index_(index), pages_(pages), report_(report), orders_(orders) {}

  std::uint32_t index() const noexcept { return index_; }
  std::uint32_t count() const noexcept { return static_cast<std::uint32_t>(pages_.size()); }
  member_page& page() noexcept { return pages_[index_]; }
  const member_page& page(std::uint32_t of) const noexcept { return pages_[of]; }

  /// Publishes where this process listens, and waits until all processes have done so.
  void publish(std::uint16_t port);
  std::uint16_t port(std::uint32_t of) const noexcept { return static_cast<std::uint16_t>(pages_[of].port); }
  /// Keeps this process on one processor, each process of a group on another one if there are enough.
  void stay_on_own_processor() const { stay_on_processor(index_); }
  /// Keeps this thread on one processor; the same number is always the same one.
  void stay_on_processor(std::uint32_t number) const;
  /// Declares that another process may end from now on.
  void may_end(std::uint32_t which) noexcept { pages_[which].may_end = true; }
  /// Declares that this process is ready for orders.
  void ready() noexcept { page().ready = 1; }

  /// For the first process: readable when an order has come.
  int orders() const noexcept { return orders_; }
  /// Waits for the next order; returns nothing when there will be none.
  std::optional<order> next_order();
  /// Notes when operation `i` of this order began and ended. Only the first process reports.
  void note(std::uint32_t i, std::int64_t began_ns, std::int64_t ended_ns) noexcept;
  /// Used with `trace`, after `note`: finds out when the last process was reached.
  void note_last_reached(std::uint32_t i, std::int64_t began_ns) noexcept;
  void done(std::uint32_t operations);
  /// Ends this process with a message for people.
  [[noreturn]] void give_up(const std::string& why) const noexcept;

  /// Carries out orders by repeating `operation`, until there are no more orders. `prepare`, if given, runs
  /// before the first operation of each order.
  void serve(const std::function<void()>& operation, const std::function<void()>& prepare = {});

 private:
  std::uint32_t index_;
  std::span<member_page> pages_;
  report_page& report_;
  int orders_;
};

}  // namespace bench
