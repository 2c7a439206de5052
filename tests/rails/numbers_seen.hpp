#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace scoll::rail_test {

/// The numbers of the requests that a node has heard. Each caller counts its requests from 1, below its id, so
/// only those after a missing one are kept one by one, and memory does not grow with the number of calls.
class numbers_seen {
 public:
  static constexpr unsigned caller_shift = 48;

  /// False if the number was added before.
  bool add(std::uint64_t number) {
    caller& from = callers_[number >> caller_shift];
    const std::uint64_t own = number & ((std::uint64_t{1} << caller_shift) - 1);
    if (own < from.next || !from.beyond.insert(own).second) return false;
    while (from.beyond.erase(from.next) != 0) ++from.next;
    ++count_;
    return true;
  }
  std::uint64_t count() const noexcept { return count_; }

 private:
  struct caller {
    std::uint64_t next = 1;
    std::set<std::uint64_t> beyond;
  };
  std::map<std::uint64_t, caller> callers_;
  std::uint64_t count_ = 0;
};

}  // namespace scoll::rail_test
