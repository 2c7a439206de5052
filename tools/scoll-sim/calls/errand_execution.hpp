#pragma once

#include <algorithm>

#include "tools/scoll-sim/cluster/cluster.hpp"

namespace scoll::sim {

/// One execution of a call's handler, for as long as its coroutine lives.
class errands::execution {
 public:
  /// `intact`: the rest of its argument is as it was sent.
  execution(errands& log, life& at, const call_context& call, std::uint64_t number, std::uint64_t behaviour,
            bool intact)
      : log_(log) {
    const auto found = log.records_.find(number);
    if (found == log.records_.end()) return;
    record_ = &found->second;
    ++record_->begun;
    record_->last_begun = log.cluster_.world().now();
    record_->executor = &at;
    record_->garbled |= !intact || behaviour != record_->behaviour;
    record_->most_left = std::max(record_->most_left, call.remaining().left(at.home.now()));
  }
  ~execution() {
    if (record_ != nullptr && log_.recording_) record_->last_left = log_.cluster_.world().now();
  }
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;

 private:
  errands& log_;
  errand_record* record_ = nullptr;
};

}  // namespace scoll::sim
