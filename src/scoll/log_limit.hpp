#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "scoll/coro/time.hpp"

namespace scoll::detail {

/// Lets one line of each subject pass in a time, and counts those that it holds back. It remembers a bounded
/// number of subjects.
class log_limit {
 public:
  static constexpr nanoseconds quiet = std::chrono::seconds(10);
  static constexpr std::size_t most_subjects = 1024;

  struct verdict {
    bool passes = false;
    std::uint64_t left_out = 0;  ///< lines of the subject that were held back before this one
  };

  /// Throws `std::bad_alloc`.
  verdict ask(std::uint64_t subject, time_point now) {
    const auto known = subjects_.find(subject);
    if (known != subjects_.end() && now < known->second.next) {
      ++known->second.left_out;
      return {};
    }
    if (known == subjects_.end()) {
      if (subjects_.size() >= most_subjects) make_room(now);
      subjects_[subject] = {now + quiet, 0};
      return {true, 0};
    }
    const std::uint64_t left_out = known->second.left_out;
    known->second = {now + quiet, 0};
    return {true, left_out};
  }

 private:
  struct line {
    time_point next{};
    std::uint64_t left_out = 0;
  };

  /// Forgets the subjects that may pass again; if there are none, all of them.
  void make_room(time_point now) {
    if (std::erase_if(subjects_, [&](const auto& s) { return s.second.next <= now; }) == 0) subjects_.clear();
  }

  std::unordered_map<std::uint64_t, line> subjects_;
};

}  // namespace scoll::detail
