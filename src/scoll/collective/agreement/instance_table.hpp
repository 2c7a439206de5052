#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

namespace scoll::detail {

/// The instances of one group by their numbers, which ascend: the instance with number i closes those below
/// i - 64 that are not decided. The outcomes of the last few decided instances are kept. A number that was
/// closed or forgotten is stale for ever, because a member that forgets its votes must not vote again.
///
/// `Instance` is the state of one instance, made with its number. It must have `bool decided() const`. A
/// closed instance is removed from the table and told by `void close()`.
template <class Instance>
class instance_table {
 public:
  static constexpr std::uint64_t window = 64;
  static constexpr std::size_t most_open = 64;
  static constexpr std::size_t kept_decisions = 8;

  enum class place : std::uint8_t { found, stale, busy };
  struct lookup {
    std::shared_ptr<Instance> instance;  ///< null unless found
    place where = place::stale;
  };

  /// Finds an instance, or opens it.
  template <class Make>
  lookup open(std::uint64_t number, Make make) {
    if (const auto known = instances_.find(number); known != instances_.end())
      return {known->second, place::found};
    if (is_stale(number)) return {nullptr, place::stale};
    close_below(number - std::min(number, window));
    if (instances_.size() - decided_.size() >= most_open) return {nullptr, place::busy};
    return {instances_.emplace(number, make(number)).first->second, place::found};
  }
  /// Finds an instance that is in the table; null if it is not.
  std::shared_ptr<Instance> find(std::uint64_t number) const {
    const auto known = instances_.find(number);
    return known == instances_.end() ? nullptr : known->second;
  }
  /// True if the number was closed or forgotten.
  bool is_stale(std::uint64_t number) const {
    if (instances_.contains(number)) return false;
    return number < closed_below_ || std::binary_search(forgotten_.begin(), forgotten_.end(), number);
  }

  /// Notes that an instance in the table is decided now. If there are too many of these, the one that was
  /// decided first is forgotten.
  void note_decided(std::uint64_t number) {
    decided_.push_back(number);
    if (decided_.size() <= kept_decisions) return;
    const std::uint64_t oldest = decided_.front();
    decided_.pop_front();
    instances_.erase(oldest);
    if (oldest >= closed_below_)
      forgotten_.insert(std::lower_bound(forgotten_.begin(), forgotten_.end(), oldest), oldest);
  }

  std::size_t open_count() const noexcept { return instances_.size() - decided_.size(); }
  std::size_t decided_count() const noexcept { return decided_.size(); }
  /// Calls `visit(Instance&)` for each instance in the table; the visit must not change the table.
  template <class Visit>
  void each(Visit visit) const {
    for (const auto& [number, instance] : instances_) visit(*instance);
  }

 private:
  void close_below(std::uint64_t bound) {
    if (bound <= closed_below_) return;
    closed_below_ = bound;
    forgotten_.erase(forgotten_.begin(), std::lower_bound(forgotten_.begin(), forgotten_.end(), bound));
    std::vector<std::shared_ptr<Instance>> closed;
    for (auto at = instances_.begin(); at != instances_.end() && at->first < bound;) {
      if (at->second->decided()) {
        ++at;
        continue;
      }
      closed.push_back(std::move(at->second));
      at = instances_.erase(at);
    }
    for (const auto& instance : closed) instance->close();
  }

  std::map<std::uint64_t, std::shared_ptr<Instance>> instances_;
  std::deque<std::uint64_t> decided_;     // in the order in which they were decided
  std::vector<std::uint64_t> forgotten_;  // sorted, at or above `closed_below_`
  std::uint64_t closed_below_ = 0;
};

}  // namespace scoll::detail
