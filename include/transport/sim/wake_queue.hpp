#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "scoll/coro/time.hpp"

namespace scoll::testing {

/// The times at which many hosts want to run next. Finding the first host and changing the time of one takes
/// O(log n). Among equal times the lowest host is first. It is a heap with four children per node that knows
/// the place of every host.
class wake_queue {
 public:
  static constexpr nanoseconds no_time = nanoseconds::max();

  explicit wake_queue(std::uint32_t hosts) : places_(hosts) {
    entries_.reserve(hosts);
    for (std::uint32_t host = 0; host < hosts; ++host) {
      places_[host] = host;
      entries_.push_back({no_time, host});
    }
  }

  /// The first host; meaningless without hosts.
  std::uint32_t first() const noexcept { return entries_.front().host; }
  /// The time of the first host; `no_time` if no host wants to run.
  nanoseconds earliest() const noexcept { return entries_.empty() ? no_time : entries_.front().at; }

  void set(std::uint32_t host, nanoseconds at) noexcept {
    const std::size_t place = places_[host];
    const nanoseconds before = std::exchange(entries_[place].at, at);
    if (at < before) rise(place);
    if (at > before) sink(place);
  }

 private:
  static constexpr std::size_t ways = 4;

  struct entry {
    nanoseconds at;
    std::uint32_t host;

    bool before(const entry& other) const noexcept {
      return at != other.at ? at < other.at : host < other.host;
    }
  };

  void put(std::size_t place, const entry& e) noexcept {
    entries_[place] = e;
    places_[e.host] = static_cast<std::uint32_t>(place);
  }

  void rise(std::size_t place) noexcept {
    const entry moved = entries_[place];
    while (place != 0) {
      const std::size_t above = (place - 1) / ways;
      if (!moved.before(entries_[above])) break;
      put(place, entries_[above]);
      place = above;
    }
    put(place, moved);
  }

  void sink(std::size_t place) noexcept {
    const entry moved = entries_[place];
    while (true) {
      std::size_t least = place * ways + 1;
      if (least >= entries_.size()) break;
      const std::size_t end = entries_.size() - least < ways ? entries_.size() : least + ways;
      for (std::size_t other = least + 1; other < end; ++other) {
        if (entries_[other].before(entries_[least])) least = other;
      }
      if (!entries_[least].before(moved)) break;
      put(place, entries_[least]);
      place = least;
    }
    put(place, moved);
  }

  std::vector<entry> entries_;
  std::vector<std::uint32_t> places_;  // by host: index in `entries_`
};

}  // namespace scoll::testing
