#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace scoll::transport {

/// Tells when files have changed: by their inode, size and time of change. A missing file is a state, too: its
/// coming and its going are changes.
class file_watch {
 public:
  /// Empty paths are left out. `interval` is the least time between two looks of `due`.
  explicit file_watch(std::vector<std::string> paths, std::chrono::steady_clock::duration interval);

  /// True if enough time has passed for another look; it counts as taken.
  bool due() noexcept;
  /// True if a file has changed since the last call, or since the construction.
  bool changed();

 private:
  struct stamp {
    ino_t file = 0;
    off_t size = 0;
    std::int64_t second = 0;
    std::int64_t nanosecond = 0;
    friend bool operator==(const stamp&, const stamp&) = default;
  };
  std::vector<stamp> stamps() const;

  std::vector<std::string> paths_;
  std::chrono::steady_clock::duration interval_;
  std::vector<stamp> seen_;
  std::chrono::steady_clock::time_point looked_at_;
};

}  // namespace scoll::transport
