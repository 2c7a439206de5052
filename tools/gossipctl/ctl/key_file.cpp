#include "key_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>

#include "run.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/io/socket.hpp"
#include "transport/security/key_ring.hpp"

namespace gossipctl {
namespace {

using scoll::transport::cluster_key;
using scoll::transport::key_ring;

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte b : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(b));
  return text;
}

}  // namespace

std::string random_key() {
  std::array<std::byte, cluster_key::secret_bytes> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("the system gives no random bytes");
  return to_hex(bytes);
}

std::vector<std::string> read_keys(const std::filesystem::path& file) {
  const auto ring = key_ring::read(file);
  if (!ring) throw usage_error(fmt::format("{}: {}", file.string(), describe(ring.error())));
  std::vector<std::string> keys;
  for (const cluster_key& key : ring->keys()) keys.push_back(to_hex(key.secret));
  return keys;
}

std::string write_keys(const std::filesystem::path& file, const std::vector<std::string>& keys) {
  const std::string made = file.string() + ".new";
  std::string text = "# Keys of the gossip, 64 hexadecimal digits each: the first seals, all open.\n";
  for (const std::string& key : keys) text += key + '\n';
  ::unlink(made.c_str());
  const scoll::transport::unique_fd fd(::open(made.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool written = fd &&
                       ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd.get()) == 0;
  if (!written || ::rename(made.c_str(), file.c_str()) != 0)
    return fmt::format("{}: {}", file.string(), std::strerror(errno));
  return {};
}

std::string key_id(const std::string& key) {
  const auto ring = key_ring::parse(key);
  if (!ring) throw usage_error(fmt::format("no key: {}", ring.error().text()));
  return fmt::format("{:08x}", ring->sealing().id);
}

}  // namespace gossipctl
