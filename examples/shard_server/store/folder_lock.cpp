#include "folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "coro/error_format.hpp"

namespace shard {

scoll::result<scoll::transport::unique_fd> lock_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return scoll::error::system(failed.value(), "create " + folder.string());
  const std::string path = folder / "lock";
  scoll::transport::unique_fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return scoll::error::system(errno, "open " + path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return scoll::make_error(scoll::errc::busy, "another server uses {}", folder.string());
  return lock;
}

}  // namespace shard
