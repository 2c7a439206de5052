#include "transport/io/file_calls.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>

namespace scoll::transport {
namespace {

using directory_handle = std::unique_ptr<DIR, decltype([](DIR* d) { ::closedir(d); })>;

bool is_directory(const std::string& folder, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat about{};
  return ::lstat((folder + "/" + entry.d_name).c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

std::int32_t read_directory(const char* path, directory_listing& out) {
  const directory_handle directory(::opendir(path));
  if (!directory) return -errno;
  directory_listing found;
  for (errno = 0; const dirent* entry = ::readdir(directory.get()); errno = 0) {
    if (std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0) continue;
    found.push_back({entry->d_name, is_directory(path, *entry)});
  }
  if (errno != 0) return -errno;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  out = std::move(found);
  return 0;
}

std::int32_t list(const char* path, directory_listing& out) noexcept {
  try {
    return read_directory(path, out);
  } catch (const std::bad_alloc&) {
    return -ENOMEM;
  }
}

ssize_t call_once(const detail::io_slot& s) noexcept {
  using opcode = detail::io_slot::opcode;
  const auto* const path = static_cast<const char*>(s.address);
  const auto flags = static_cast<int>(s.flags);
  const auto offset = static_cast<off_t>(s.offset);
  switch (s.kind) {
    case opcode::open: return ::openat(s.fd, path, flags, s.mode);
    case opcode::read: return ::pread(s.fd, s.second, s.length, offset);
    case opcode::write: return ::pwrite(s.fd, s.address, s.length, offset);
    case opcode::sync: return ::fsync(s.fd);
    case opcode::stat:
      return ::statx(s.fd, path, flags, STATX_BASIC_STATS, static_cast<struct statx*>(s.second));
    case opcode::rename: return ::rename(path, static_cast<const char*>(s.second));
    case opcode::unlink: return ::unlinkat(AT_FDCWD, path, flags);
    case opcode::make_directory: return ::mkdir(path, s.mode);
    case opcode::close: return ::close(s.fd);
    default: errno = EOPNOTSUPP; return -1;
  }
}

}  // namespace

std::int32_t call_file(const detail::io_slot& s) noexcept {
  using opcode = detail::io_slot::opcode;
  if (s.kind == opcode::list)
    return list(static_cast<const char*>(s.address), *static_cast<directory_listing*>(s.second));
  ssize_t outcome = call_once(s);
  // A descriptor is closed even if a signal has interrupted its close.
  while (outcome < 0 && errno == EINTR && s.kind != opcode::close) outcome = call_once(s);
  return outcome < 0 ? -errno : static_cast<std::int32_t>(outcome);
}

}  // namespace scoll::transport
