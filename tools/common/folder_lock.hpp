#pragma once

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/result.hpp"
#include "transport/io/socket.hpp"

namespace scoll::kit {

/// Creates a process's folder if necessary and locks it for this process. The lock lasts until the result is
/// destroyed or the process ends in any way. Blocks. Errors: `busy` (another process uses the folder),
/// `io_error`.
inline result<transport::unique_fd> lock_folder(const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error::system(failed.value(), "create " + folder.string());
  const std::string path = folder / "lock";
  transport::unique_fd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return error::system(errno, "open " + path);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return make_error(errc::busy, "another process uses {}", folder.string());
  return lock;
}

}  // namespace scoll::kit
