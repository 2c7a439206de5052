#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "transport/session/message.hpp"

namespace scoll::transport {

/// The cancels that have overtaken messages which were sent before them. A cancel must not be heard before
/// the request that it is about, so it waits until everything before it has arrived. The arrival window of
/// the lane bounds their number.
class held_cancels {
 public:
  using envelope = std::array<std::byte, message::envelope_bytes>;

  bool empty() const noexcept { return held_ == nullptr || held_->empty(); }
  std::size_t size() const noexcept { return held_ == nullptr ? 0 : held_->size(); }

  /// Keeps a copy of the envelope in `head`, which is at least as long as one.
  void hold(std::uint64_t number, std::span<const std::byte> head) {
    if (held_ == nullptr) held_ = std::make_unique<std::vector<entry>>();
    const auto place = std::ranges::upper_bound(*held_, number, {}, &entry::number);
    entry& added = *held_->insert(place, entry{number, {}});
    std::ranges::copy(head.first(message::envelope_bytes), added.head.begin());
  }
  /// Calls `hear(envelope)` for those with numbers up to `number`, in their order.
  template <class Hear>
  void release(std::uint64_t number, Hear&& hear) {
    if (empty()) return;
    const auto end = std::ranges::upper_bound(*held_, number, {}, &entry::number);
    if (end == held_->begin()) return;
    const std::vector<entry> due(held_->begin(), end);
    held_->erase(held_->begin(), end);
    for (const entry& each : due) hear(each.head);
  }
  void clear() noexcept { held_.reset(); }

 private:
  struct entry {
    std::uint64_t number;
    envelope head;
  };
  std::unique_ptr<std::vector<entry>> held_;  // by number; most lanes never have one
};

}  // namespace scoll::transport
