#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "scoll/coro/assert.hpp"

namespace scoll::sim {

enum class study_event : std::uint8_t { tick, send, retry, arrive, wake };

struct study_occasion {
  std::int64_t at = 0;  // millionths of an interval
  std::uint64_t order = 0;
  std::uint32_t index = 0;  // index of a node or of a message
  study_event what = study_event::tick;
  friend bool operator>(const study_occasion& a, const study_occasion& b) {
    return a.at != b.at ? a.at > b.at : a.order > b.order;
  }
};

/// The future events of a study, ordered by time and then by sequence. Events lie unsorted in the slot of
/// their time; the slot becomes a heap when its time comes. A single heap with all future events of a large
/// cluster would not fit the caches.
class gossip_wheel {
 public:
  static constexpr std::int64_t slot_ticks = 1'000'000 / 512;
  static constexpr std::size_t slots = std::size_t{1} << 14;  // 32 intervals: no event is further ahead

  gossip_wheel() : slots_(slots) {}

  /// The time must not be before the latest one that `next` has returned or been asked for.
  void push(const study_occasion& o) {
    const std::int64_t at = o.at / slot_ticks;
    SCOLL_ASSERT(at >= now_ && at - now_ < static_cast<std::int64_t>(slots), "an occasion is soon");
    std::vector<study_occasion>& slot = slot_of(at);
    slot.push_back(o);
    if (at == now_) std::push_heap(slot.begin(), slot.end(), std::greater<>());
  }

  /// Takes the earliest event, if it is not after `end`.
  bool next(std::int64_t end, study_occasion& o) {
    while (slot_of(now_).empty()) {
      if (now_ >= end / slot_ticks) return false;
      ++now_;
      std::vector<study_occasion>& slot = slot_of(now_);
      std::make_heap(slot.begin(), slot.end(), std::greater<>());
    }
    std::vector<study_occasion>& slot = slot_of(now_);
    if (slot.front().at > end) return false;
    std::pop_heap(slot.begin(), slot.end(), std::greater<>());
    o = slot.back();
    slot.pop_back();
    return true;
  }

 private:
  std::vector<study_occasion>& slot_of(std::int64_t at) {
    return slots_[static_cast<std::size_t>(at) % slots];
  }

  std::vector<std::vector<study_occasion>> slots_;
  std::int64_t now_ = 0;  // the slot that is a heap
};

}  // namespace scoll::sim
