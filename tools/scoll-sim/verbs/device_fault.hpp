#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "scoll/coro/time.hpp"

namespace scoll::sim {

enum class device_fault_kind : std::uint8_t {
  port_down,     ///< the port is down, and an event says so
  port_silent,   ///< likewise, and no event says so
  fails,         ///< all queues of the device end; it can be opened again at once
  away,          ///< likewise, and its port is down
  post_refused,  ///< the device refuses one of the next sends and READs, in the middle of a list
  unheard,     ///< what is sent next arrives, and from then on nothing gets through, acknowledgements neither
  slow_calls,  ///< calls that change something take milliseconds, on all hosts
  memory_refused  ///< no memory can be registered for READs, and the device fails, so that this is noticed
};
inline constexpr std::size_t device_fault_kinds =
    static_cast<std::size_t>(device_fault_kind::memory_refused) + 1;

/// One fault of the RDMA device by which a rail of a host is made.
struct device_fault {
  nanoseconds at{0};
  nanoseconds until{0};
  device_fault_kind kind = device_fault_kind::port_down;
  std::uint32_t host = 0;
  std::uint32_t rail = 0;
  std::uint32_t amount = 0;  ///< posts that the device still takes, or the host that does not hear

  /// Calls are slow on all hosts. A device that is to refuse a post may do so much later, when nothing is moved.
  bool touches(std::uint32_t of, std::uint32_t number) const noexcept {
    const bool both = kind == device_fault_kind::unheard && amount == of;
    return kind == device_fault_kind::slow_calls || (rail == number && (host == of || both));
  }
};

/// Sorts faults by one of their times; those of one time keep their order. std::stable_sort makes clang warn about
/// libstdc++, and there are few.
inline void sort_by(nanoseconds device_fault::* time, std::vector<device_fault>& faults) {
  for (auto next = faults.begin(); next != faults.end(); ++next) {
    const auto place = std::ranges::upper_bound(faults.begin(), next, (*next).*time, {}, time);
    std::rotate(place, next, std::next(next));
  }
}

}  // namespace scoll::sim
