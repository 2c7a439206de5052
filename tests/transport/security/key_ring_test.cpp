#include "transport/security/key_ring.hpp"

#include <string>

#include "tests/catch.hpp"
#include "tests/transport/security/private_file.hpp"

using namespace scoll;
using scoll::transport::key_ring;
using security::private_file;

namespace {

const std::string first_key(64, 'a');
const std::string second_key = std::string(62, '0') + "7F";

}  // namespace

TEST_CASE("a key ring reads keys in order, with comments", "[security]") {
  const auto ring = key_ring::parse("# ours\n" + first_key + "  # first\r\n\n  " + second_key + "\n");
  REQUIRE(ring.has_value());
  REQUIRE(ring->keys().size() == 2);
  REQUIRE(ring->sealing().secret[0] == std::byte{0xaa});
  REQUIRE(ring->keys()[1].secret[31] == std::byte{0x7f});
  REQUIRE(ring->find(ring->keys()[1].id) == &ring->keys()[1]);
  REQUIRE(ring->find(1) == nullptr);
}

TEST_CASE("a key ring refuses what is no key, names the line and not the key", "[security]") {
  const auto refused = [](const std::string& content) {
    const auto ring = key_ring::parse(content);
    REQUIRE(!ring.has_value());
    REQUIRE(ring.error() == errc::invalid_argument);
    return std::string(ring.error().text());
  };
  REQUIRE(refused("") == "the key file contains no key");
  REQUIRE(refused("# nothing\n") == "the key file contains no key");
  REQUIRE(refused(first_key + "\nsecret\n") == "line 2: a key is 64 hexadecimal digits");
  REQUIRE(refused(first_key.substr(1)) == "line 1: a key is 64 hexadecimal digits");
  REQUIRE(refused(std::string(63, 'a') + "g") == "line 1: a key is 64 hexadecimal digits");
  REQUIRE(refused("-" + std::string(63, 'a')) == "line 1: a key is 64 hexadecimal digits");
  REQUIRE(refused(first_key + "\n\n" + first_key) == "line 3: this key is listed twice");
  std::string many;
  for (const char c : std::string("123456789")) many += std::string(64, c) + '\n';
  REQUIRE(refused(many) == "line 9: at most 8 keys");
}

TEST_CASE("a key file that others may read is refused", "[security]") {
  const private_file file;
  file.write(first_key + "\n", 0600);
  REQUIRE(key_ring::read(file.path).has_value());
  file.write(first_key + "\n", 0400);
  REQUIRE(key_ring::read(file.path).has_value());
  for (const mode_t mode : {0640U, 0604U, 0620U}) {
    file.write(first_key + "\n", mode);
    const auto read = key_ring::read(file.path);
    REQUIRE(!read.has_value());
    REQUIRE(read.error() == errc::invalid_argument);
    REQUIRE(std::string(read.error().text()).find("chmod 600") != std::string::npos);
  }
  REQUIRE(key_ring::read(file.path + "-not").error() == errc::io_error);
  REQUIRE(key_ring::read("/tmp").error() == errc::invalid_argument);
}
