#include "transport/security/file_watch.hpp"

#include <sys/stat.h>

#include <utility>

namespace scoll::transport {

file_watch::file_watch(std::vector<std::string> paths, std::chrono::steady_clock::duration interval)
    : paths_(std::move(paths)), interval_(interval), looked_at_(std::chrono::steady_clock::now()) {
  std::erase_if(paths_, [](const std::string& path) { return path.empty(); });
  seen_ = stamps();
}

bool file_watch::due() noexcept {
  const auto now = std::chrono::steady_clock::now();
  if (now - looked_at_ < interval_) return false;
  looked_at_ = now;
  return true;
}

bool file_watch::changed() {
  auto now = stamps();
  if (now == seen_) return false;
  seen_ = std::move(now);
  return true;
}

std::vector<file_watch::stamp> file_watch::stamps() const {
  std::vector<stamp> found;
  found.reserve(paths_.size());
  for (const std::string& path : paths_) {
    struct stat at{};
    if (::stat(path.c_str(), &at) != 0) at = {};
    found.push_back({at.st_ino, at.st_size, at.st_mtim.tv_sec, at.st_mtim.tv_nsec});
  }
  return found;
}

}  // namespace scoll::transport
