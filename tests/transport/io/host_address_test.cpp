#include "transport/io/host_address.hpp"

#include <algorithm>
#include <string>

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::transport;

namespace {

struct refused {
  std::string text;
  std::string why;
};

}  // namespace

TEST_CASE("an address is a number or a host name, with a port") {
  for (const char* text : {"127.0.0.1:7001", "0.0.0.0:0", "[::1]:7001", "[fe80::1%1]:7001"}) {
    const auto to = host_address::parse(text);
    REQUIRE(to);
    CHECK(to->name.empty());
    CHECK(to->number.to_string() == text);
    CHECK(to->port == to->number.port());
  }
  for (const std::string host : {"localhost", "storage-7", "storage_7", "Storage-7.example.org", "a", "7up",
                                 "3com.example", "1.2.3.4a", "0x-files", "trailing.dot."}) {
    INFO(host);
    const std::string text = host + ":65535";
    const auto to = host_address::parse(text);
    REQUIRE(to);
    CHECK(to->name == host);
    CHECK(to->port == 65535);
    CHECK(to->number.family() == AF_UNSPEC);
  }
  CHECK(host_address::parse(std::string(63, 'a') + ".b:1").has_value());
}

TEST_CASE("what cannot be an address is refused, and the text says what is wrong") {
  const std::string long_name = std::string(63, 'a') + "." + std::string(63, 'b') + "." +
                                std::string(63, 'c') + "." + std::string(63, 'd');
  const refused table[] = {
      {"", "the port is missing"},
      {"storage-7", "the port is missing"},
      {"[::1]", "the port is missing"},
      {"127.0.0.1", "the port is missing"},
      {":7001", "the host is missing"},
      {":", "the port is not in 0..65535"},
      {"storage-7:", "the port is not in 0..65535"},
      {"storage-7:65536", "the port is not in 0..65535"},
      {"storage-7:-1", "the port is not in 0..65535"},
      {"storage-7:+1", "the port is not in 0..65535"},
      {"storage-7: 1", "the port is not in 0..65535"},
      {"storage-7:1 ", "the port is not in 0..65535"},
      {"storage-7:7x", "the port is not in 0..65535"},
      {"storage-7:http", "the port is not in 0..65535"},
      {"storage-7:99999999999999999999", "the port is not in 0..65535"},
      {"::1:7001", "IPv6 needs brackets"},
      {"storage-7:7001:7002", "IPv6 needs brackets"},
      {"http://storage-7:80", "IPv6 needs brackets"},
      {"[::1:7001", "the brackets hold no IPv6 address"},
      {"::1]:7001", "the brackets hold no IPv6 address"},
      {"[]:7001", "the brackets hold no IPv6 address"},
      {"[[::1]]:7001", "the brackets hold no IPv6 address"},
      {"[storage-7]:7001", "the brackets hold no IPv6 address"},
      {"[127.0.0.1]:7001", "the brackets hold no IPv6 address"},
      {"[::1%nosuchinterface]:7001", "the brackets hold no IPv6 address"},
      {"127.0.0.256:1", "this is no IPv4 address"},
      {"127.1:1", "this is no IPv4 address"},
      {"2130706433:1", "this is no IPv4 address"},
      {"0x7f000001:1", "this is no IPv4 address"},
      {"storage.0xFf:1", "this is no IPv4 address"},
      {"storage.0x:1", "this is no IPv4 address"},
      {"storage.7:1", "this is no IPv4 address"},
      {"1.2.3.4.:1", "this is no IPv4 address"},
      {"storage 7:1", "a character no host name has"},
      {" storage-7:1", "a character no host name has"},
      {"storage/7:1", "a character no host name has"},
      {"me@storage-7:1", "a character no host name has"},
      {"sto\trage:1", "a character no host name has"},
      {std::string("sto\0rage:1", 10), "a character no host name has"},
      {"m\xc3\xbcnchen:1", "a character no host name has"},
      {"storage-7:1;bulk=storage-8:1", "IPv6 needs brackets"},
      {"-storage:1", "a label begins or ends with '-'"},
      {"storage-:1", "a label begins or ends with '-'"},
      {"a.-b.c:1", "a label begins or ends with '-'"},
      {".:1", "a label of the name is empty"},
      {"..:1", "a label of the name is empty"},
      {"a..b:1", "a label of the name is empty"},
      {".a:1", "a label of the name is empty"},
      {std::string(64, 'a') + ":1", "a label of the name is too long"},
      {long_name + ":1", "the name is longer than 253 bytes"},
  };
  for (const refused& each : table) {
    INFO(each.text);
    const auto to = host_address::parse(each.text);
    REQUIRE_FALSE(to);
    CHECK(to.error() == errc::invalid_argument);
    const std::string said(to.error().text());
    CHECK_THAT(said,
               Catch::Contains("address '" + each.text.substr(0, 44) + "': ") && Catch::Contains(each.why));
  }
}

TEST_CASE("the system resolves localhost to addresses of this host, each once") {
  const auto found = resolve_host("localhost");
  REQUIRE(found);
  REQUIRE_FALSE(found->empty());
  for (const socket_address& each : *found) {
    const std::string text = each.to_string();
    CHECK((text.starts_with("127.") || text == "[::1]:0"));
    CHECK(std::ranges::count(*found, each) == 1);
  }
}

TEST_CASE("a name that cannot be resolved is not found, and the system says why") {
  const auto found = resolve_host(std::string(64, 'a'));  // longer than any label, so no server is asked
  REQUIRE_FALSE(found);
  CHECK(found.error() == errc::not_found);
  CHECK_FALSE(found.error().text().empty());
}
