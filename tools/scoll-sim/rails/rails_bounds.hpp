#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "tools/scoll-sim/rails/rails_faults.hpp"
#include "tools/scoll-sim/rails/rails_host.hpp"

namespace scoll::sim {

/// How long calls and transfers may take in a run of rails, by its weather, and which calls may fail.
class rails_bounds {
 public:
  /// The longest call while one rail fails at a time: two suspicions, one after the other, or a connection that
  /// has to be made first.
  static constexpr nanoseconds longest_in_gentle = std::chrono::milliseconds(400);

  /// The plan must outlive the bounds.
  explicit rails_bounds(const rails_plan& p) noexcept : plan_(p) {}

  nanoseconds of_call(const rails_call& c) const noexcept;
  nanoseconds of_transfer() const noexcept { return longest_transfer + 2 * paused(); }
  /// True if the session of two hosts may have ended.
  bool may_lose(std::uint32_t a, std::uint32_t b, nanoseconds now) const noexcept {
    return are_parted(a, b) || had_no_answer(a, b, nanoseconds(0), now);
  }
  /// True if all rails between two hosts dropped something for so long that their session had to end, or if one
  /// of them did not answer who came by the rail that was left.
  bool may_fail(const rails_call& c, nanoseconds now) const noexcept;

 private:
  /// True if the host that nobody reaches is one of the two.
  bool are_parted(std::uint32_t a, std::uint32_t b) const noexcept;
  /// True if one of the two stood still for longer than the other one waits for a connection, while the two rails
  /// by which they were connected failed. A third rail was spared, but a host that stands still accepts no
  /// connection by it. This must have happened between the two times.
  bool had_no_answer(std::uint32_t a, std::uint32_t b, nanoseconds from, nanoseconds to) const noexcept;
  /// The number of rails between two hosts that failed while one of them stood still, or shortly before.
  std::size_t failing_rails(std::uint32_t a, std::uint32_t b, const rails_fault& still) const noexcept;
  static constexpr nanoseconds longest_bulk_in_gentle = std::chrono::milliseconds(800);
  /// Retries of a device end after half a second, and a connection takes some calls to devices.
  static constexpr nanoseconds longest_with_devices = std::chrono::seconds(1);
  static constexpr nanoseconds longest_in_storm = std::chrono::seconds(4);
  /// All paths are tried anew a second after the connected ones have fallen silent.
  static constexpr nanoseconds longest_at_return = std::chrono::seconds(2);
  /// A peer that does not answer is given up after ten seconds. Then a call waits for a connection, for a grace.
  static constexpr nanoseconds longest_cut_off = std::chrono::seconds(13);
  static constexpr nanoseconds errors_afterwards = std::chrono::seconds(2);
  static constexpr nanoseconds grace = std::chrono::seconds(1);
  /// A rail that has failed may be avoided for so long.
  static constexpr nanoseconds longest_distrust = std::chrono::seconds(10);
  /// What slow rails with full queues add to that, and the longest transfer.
  static constexpr nanoseconds slow_rails = std::chrono::milliseconds(500);
  static constexpr nanoseconds longest_transfer = std::chrono::seconds(6);

  nanoseconds in_weather(const rails_call& c) const noexcept;
  nanoseconds paused() const noexcept;
  nanoseconds silenced() const noexcept;

  const rails_plan& plan_;
};

}  // namespace scoll::sim
