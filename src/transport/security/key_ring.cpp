#include "transport/security/key_ring.hpp"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <charconv>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error_format.hpp"
#include "transport/security/secret_file.hpp"
#include "transport/wire/byte_order.hpp"

namespace scoll::transport {
namespace {

std::string_view trimmed(std::string_view line) {
  line = line.substr(0, line.find('#'));
  const auto first = line.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

bool read_hex(std::string_view text, std::span<std::byte, cluster_key::secret_bytes> into) {
  if (text.size() != 2 * into.size()) return false;
  for (std::size_t i = 0; i != into.size(); ++i) {
    const char* const at = text.data() + 2 * i;
    std::uint8_t value = 0;
    const auto [end, failed] = std::from_chars(at, at + 2, value, 16);
    if (failed != std::errc() || end != at + 2) return false;
    into[i] = std::byte{value};
  }
  return true;
}

}  // namespace

cluster_key cluster_key::of(std::span<const std::byte, secret_bytes> secret) noexcept {
  cluster_key made;
  std::copy(secret.begin(), secret.end(), made.secret.begin());
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest;
  SHA256(reinterpret_cast<const unsigned char*>(secret.data()), secret.size(), digest.data());
  made.id = wire::detail::load_little<std::uint32_t>(reinterpret_cast<const std::byte*>(digest.data()));
  return made;
}

key_ring::~key_ring() {
  if (!keys_.empty()) OPENSSL_cleanse(keys_.data(), keys_.size() * sizeof(cluster_key));
}

result<key_ring> key_ring::parse(std::string_view text) {
  key_ring ring;
  ring.keys_.reserve(most_keys);  // so that the keys never move and leave no copy behind
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    std::array<std::byte, cluster_key::secret_bytes> secret;
    if (!read_hex(line, secret))
      return make_error(errc::invalid_argument, "line {}: a key is 64 hexadecimal digits", number);
    const cluster_key key = cluster_key::of(secret);
    OPENSSL_cleanse(secret.data(), secret.size());
    if (ring.find(key.id) != nullptr)
      return make_error(errc::invalid_argument, "line {}: this key is listed twice", number);
    if (ring.keys_.size() == most_keys)
      return make_error(errc::invalid_argument, "line {}: at most {} keys", number, most_keys);
    ring.keys_.push_back(key);
  }
  if (ring.empty()) return error(errc::invalid_argument, "the key file contains no key");
  return ring;
}

result<key_ring> key_ring::read(const std::string& path) {
  const auto content = read_secret_file(path, "key");
  if (!content) return content.error();
  return parse(content->text);
}

const cluster_key* key_ring::find(std::uint32_t id) const noexcept {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [id](const cluster_key& k) { return k.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

}  // namespace scoll::transport
