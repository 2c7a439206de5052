#include "transport/security/secret_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "scoll/coro/error_format.hpp"
#include "transport/io/socket.hpp"

namespace scoll::transport {
namespace {

constexpr std::size_t secret_file_limit = 65'536;

status check_owner(int fd, const std::string& path, const char* what) {
  struct stat found{};
  if (::fstat(fd, &found) != 0) return error::system(errno, "stat " + path);
  if (!S_ISREG(found.st_mode)) return make_error(errc::invalid_argument, "{} is not a regular file", path);
  if ((found.st_mode & 077) != 0) {
    return make_error(errc::invalid_argument, "others may use the {} file (mode {:04o}): chmod 600 {}", what,
                      found.st_mode & 07777, path);
  }
  if (found.st_uid != ::geteuid() && found.st_uid != 0)
    return make_error(errc::invalid_argument, "the {} file belongs to another user: {}", what, path);
  return {};
}

}  // namespace

result<wiped_text> read_secret_file(const std::string& path, const char* what) {
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return error::system(errno, "open " + path);
  if (const status s = check_owner(fd.get(), path, what); !s) return s.error();
  wiped_text content;
  content.text.resize(secret_file_limit);
  const ssize_t size = ::read(fd.get(), content.text.data(), content.text.size());
  if (size < 0) return error::system(errno, "read " + path);
  content.text.resize(static_cast<std::size_t>(size));
  return content;
}

}  // namespace scoll::transport
