#include "transport/verbs/datagrams/datagram_wire.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"
#include "transport/verbs/datagrams/global_header.hpp"
#include "transport/verbs/mapped_address.hpp"
#include "transport/verbs/opened_device.hpp"

using namespace scoll;
using namespace scoll::transport;
using namespace scoll::transport::verbs;
using Catch::Matchers::Contains;

namespace {

std::vector<unsigned> numbers(std::span<const std::byte> bytes) {
  std::vector<unsigned> all;
  for (const std::byte b : bytes) all.push_back(std::to_integer<unsigned>(b));
  return all;
}

whereabouts some_place() {
  whereabouts w;
  w.address = mapped({10, 0, 0, 1});
  w.queue_pair = 0x0102;
  w.queue_key = 0x7fffffff;
  w.mtu = 4096;
  w.lid = 5;
  w.epoch = 0x1122334455667788;
  return w;
}

}  // namespace

TEST_CASE("the header of a datagram has the bytes of docs/wire.md") {
  std::array<std::byte, datagram_header_bytes> bytes{};
  const datagram_header header{.port = 7002, .host = mapped({10, 0, 0, 1}), .epoch = 0x1122334455667788};
  write_header(bytes, header);
  CHECK(numbers(bytes) == std::vector<unsigned>{'S', 'S', 'U',  'D',  0,    0,    0x5a, 0x1b, 0,    0,   0,
                                                0,   0,   0,    0,    0,    0,    0,    0xff, 0xff, 10,  0,
                                                0,   1,   0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11});
  CHECK(read_header(bytes) == header);
  CHECK_FALSE(read_header(std::span(bytes).first(31)).has_value());
  for (const std::size_t altered : {0U, 3U, 4U, 5U}) {
    auto other = bytes;
    other[altered] ^= std::byte{1};
    CHECK_FALSE(read_header(other).has_value());
  }
  std::fill(bytes.begin() + 24, bytes.end(), std::byte{0});  // no epoch
  CHECK_FALSE(read_header(bytes).has_value());
}

TEST_CASE("a question and its answer are of one size, and an altered byte makes neither of them") {
  const name_message question{.nonce = 77};
  const name_message said{.kind = name_message::what::answer, .nonce = 77, .where = some_place()};
  const auto asked = encoded(question);
  const auto answered = encoded(said);
  static_assert(asked.size() == answered.size());
  CHECK(read_name_message(asked)->kind == name_message::what::question);
  REQUIRE(read_name_message(answered).has_value());
  CHECK(read_name_message(answered)->where == some_place());
  CHECK(read_name_message(answered)->nonce == 77);
  CHECK(numbers(std::span(answered).first(56)) ==
        std::vector<unsigned>{'S', 'S', 'U', 'N', 1, 2, 0,    0,    77,   0,    0,    0,    0,    0,
                              0,   0,   0,   0,   0, 0, 0,    0,    0,    0,    0,    0,    0xff, 0xff,
                              10,  0,   0,   1,   2, 1, 0,    0,    0xff, 0xff, 0xff, 0x7f, 0,    0x10,
                              0,   0,   5,   0,   0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11});
  for (std::size_t i = 0; i < answered.size(); ++i) {
    auto altered = answered;
    altered[i] ^= std::byte{0x10};
    CHECK_FALSE(read_name_message(altered).has_value());
  }
  CHECK_FALSE(read_name_message(std::span(answered).first(63)).has_value());
}

TEST_CASE("a question that says where the asker is, or an answer that does not, is neither") {
  CHECK_FALSE(read_name_message(encoded({.nonce = 1, .where = some_place()})).has_value());
  CHECK_FALSE(read_name_message(encoded({.kind = name_message::what::answer, .nonce = 1})).has_value());
  CHECK_FALSE(read_name_message(encoded({.kind = name_message::what{3}, .nonce = 1})).has_value());
}

TEST_CASE("names are addresses of one host and a port") {
  const auto read = [](const std::string& place) { return parse_name("verbs://" + place).value(); };
  const auto four = name_of(read("10.0.0.1:7002"));
  REQUIRE(four.has_value());
  CHECK(four->host == mapped({10, 0, 0, 1}));
  CHECK(four->port == 7002);
  CHECK(address_of(*four, {}).to_string() == "10.0.0.1:7002");

  const auto six = name_of(read("[fd00::1]:7002"));
  REQUIRE(six.has_value());
  CHECK(to_text(six->host) == "fd00::1");
  CHECK(address_of(*six, {}).to_string() == "[fd00::1]:7002");

  for (const char* no_name : {"0.0.0.0:7002", "[::]:7002", "10.0.0.1:0", "[::ffff:10.0.0.1]:7002"})
    CHECK_FALSE(name_of(read(no_name)).has_value());
  CHECK_THAT(std::string(parse_name("tcp://10.0.0.1:7002").error().text()), Contains("expected verbs://"));
  CHECK_THAT(std::string(parse_name("10.0.0.1:7002").error().text()), Contains("expected verbs://"));
  CHECK_FALSE(parse_name("verbs://here:7002").has_value());
}

TEST_CASE("a link-local name has the scope of the own address") {
  const auto own = socket_address::parse("[fe80::9%lo]:7002").value();
  const auto other = socket_address::parse("[fe80::1%lo]:7002").value();
  const auto name = name_of(other);
  REQUIRE(name.has_value());
  CHECK(address_of(*name, own) == other);
}

TEST_CASE("the source of a datagram is found in each kind of header") {
  std::array<std::byte, global_header_bytes> bytes{};
  CHECK_FALSE(source_of(bytes).has_value());

  bytes[0] = std::byte{0x60};
  bytes[8] = std::byte{0xfd};
  bytes[23] = std::byte{7};
  gid six{};
  six[0] = 0xfd;
  six[15] = 7;
  CHECK(source_of(bytes) == six);

  const std::array<unsigned, 20> v4{0x45, 2, 0, 84, 0, 1, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 7, 10, 0, 0, 8};
  std::transform(v4.begin(), v4.end(), bytes.begin() + 20,
                 [](unsigned b) { return static_cast<std::byte>(b); });
  CHECK(source_of(bytes) != mapped({10, 0, 0, 7}));  // without its checksum it is no header
  const std::uint16_t sum = header_checksum(std::span(bytes).subspan(20));
  bytes[30] = static_cast<std::byte>(sum >> 8U);
  bytes[31] = static_cast<std::byte>(sum & 0xffU);
  CHECK(source_of(bytes) == mapped({10, 0, 0, 7}));
}
