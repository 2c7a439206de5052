#include "key_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sockets.hpp"

namespace bench {

// The key is no secret: what it guards stays within this machine and means nothing.
key_file::key_file() : file_(memfd_create("scoll-bench-keys", MFD_CLOEXEC)) {
  const std::string key(64, 'a');
  const bool written = file_ && fchmod(file_.get(), S_IRUSR | S_IWUSR) == 0 &&
                       write(file_.get(), key.data(), key.size()) == static_cast<ssize_t>(key.size());
  if (!written) fail("a file of keys");
}

std::string key_file::path() const {
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(file_.get());
}

scoll::transport::security_options guarded_by(const std::string& keys) {
  scoll::transport::security_options chosen;
  if (!keys.empty()) chosen.mode = scoll::transport::security_mode::psk;
  chosen.keys = keys;
  return chosen;
}

}  // namespace bench
