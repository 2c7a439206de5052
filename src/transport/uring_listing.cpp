#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "uring_reactor.hpp"

namespace scoll::transport {
namespace {

using directory_handle = std::unique_ptr<DIR, decltype([](DIR* d) { ::closedir(d); })>;

bool is_directory(const std::string& folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat about{};
  return ::lstat((folder + "/" + entry.d_name).c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

/// Blocking. Zero or a negative errno.
std::int32_t read_directory(const std::string& path, directory_listing& found) {
  const directory_handle directory(::opendir(path.c_str()));
  if (!directory) return -errno;
  for (errno = 0; const dirent* entry = ::readdir(directory.get()); errno = 0) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    found.push_back({entry->d_name, is_directory(path, *entry)});
  }
  if (errno != 0) return -errno;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return 0;
}

}  // namespace

/// The ring has no operation that reads a directory, and a slow disk must not hold up the reactor: a thread
/// does it that ends with it.
class uring_reactor::listing final : private posted_node {
 public:
  listing(uring_reactor& home, slot& s, directory_listing& out)
      : posted_node(&arrived), home_(home), slot_(s), out_(out), path_(static_cast<const char*>(s.address)) {
    reader_ = std::thread([this] {
      outcome_ = read_directory(path_, found_);
      home_.post(*this);
    });
  }
  ~listing() = default;

 private:
  static void arrived(posted_node& node) noexcept {
    const std::unique_ptr<listing> self(static_cast<listing*>(&node));
    self->reader_.join();
    if (self->outcome_ >= 0) self->out_ = std::move(self->found_);
    self->home_.end(self->slot_, self->outcome_);
  }

  uring_reactor& home_;
  slot& slot_;
  directory_listing& out_;
  const std::string path_;
  directory_listing found_;
  std::int32_t outcome_ = 0;
  std::thread reader_;
};

void uring_reactor::list(const char* path, directory_listing& out, io_completion& done) noexcept {
  slot& s = begin(done, operation::list, -1);
  s.address = path;
  s.where = place::elsewhere;
  try {
    std::make_unique<listing>(*this, s, out).release();  // it deletes itself when it has arrived
  } catch (const std::system_error& no_thread) {
    end(s, -no_thread.code().value());
  }
}

}  // namespace scoll::transport
