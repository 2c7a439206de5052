#include "scoll/rail_entry.hpp"

#include "scoll/settings.hpp"
#include "tests/catch.hpp"

using namespace scoll;

namespace {

std::vector<rail_entry> read(std::string_view text) {
  const rail_list parsed = parse_rails(text);
  CHECK(parsed.complaint.empty());
  return parsed.rails;
}

std::string refusal_of(std::string_view text) {
  const rail_list parsed = parse_rails(text);
  CHECK(parsed.rails.empty());
  return parsed.complaint;
}

}  // namespace

TEST_CASE("a list of rails names their addresses, networks, devices and classes") {
  const auto rails = read("a=tcp://10.0.0.2:7001%eth0, b=tcp://10.1.0.2:7001/24%eth1!bulk");
  REQUIRE(rails.size() == 2);
  CHECK(rails[0] == rail_entry{"a", "10.0.0.2:7001", 0, "eth0", false});
  CHECK(rails[1] == rail_entry{"b", "10.1.0.2:7001", 24, "eth1", true});
  CHECK(read("").empty());
  CHECK(read("  ").empty());
  CHECK(read("a=tcp://[fd00::2]:7001/64")[0] == rail_entry{"a", "[fd00::2]:7001", 64, "", false});
  CHECK(read("a=tcp://[fe80::2%lo]:7001%lo")[0] == rail_entry{"a", "[fe80::2%lo]:7001", 0, "lo", false});
  CHECK(read("front-1 = tcp://10.0.0.2:0!bulk%eth0/8")[0] ==
        rail_entry{"front-1", "10.0.0.2:0", 8, "eth0", true});
}

TEST_CASE("a rail of a list may be one by RDMA, beside one by TCP in the same network") {
  const auto rails = read("a=tcp://10.0.0.2:7001/24, b=verbs://10.0.0.2:7002/24!bulk");
  REQUIRE(rails.size() == 2);
  CHECK(rails[1] == rail_entry{"b", "10.0.0.2:7002", 24, "", true, rail_kind::verbs});
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001, b=verbs://10.0.0.2:7001"),
             Catch::EndsWith("10.0.0.2:7001 is also the address of rail a"));
}

TEST_CASE("a list of rails is written as it is read") {
  const std::string text =
      "a=tcp://10.0.0.2:7001%eth0, b=verbs://10.1.0.2:7001/24%eth1!bulk, c=tcp://[fd00::2]:7001/64";
  CHECK(to_string(read(text)) == text);
  CHECK(to_string(read("a=tcp://10.0.0.2:1!bulk%eth0/8")) == "a=tcp://10.0.0.2:1/8%eth0!bulk");
  CHECK(to_string(std::vector<rail_entry>{}).empty());
}

TEST_CASE("what is wrong with a list of rails is said, with the entry") {
  CHECK(refusal_of("10.0.0.2:7001") ==
        "entry 1, '10.0.0.2:7001': a rail is NAME=tcp://ADDRESS:PORT, and this has no '='");
  CHECK(refusal_of("a=tcp://10.0.0.2:7001, =tcp://10.1.0.2:7001") ==
        "entry 2, '=tcp://10.1.0.2:7001': the name '' is not 1 to 32 letters, digits, '-' and '_'");
  CHECK(refusal_of("a=udp://10.0.0.2:7001") ==
        "entry 1, 'a=udp://10.0.0.2:7001': the address begins with 'udp', and not with tcp:// or verbs://");
  CHECK_THAT(refusal_of("a=10.0.0.2:7001"),
             Catch::Contains("begins with '10.0.0.2:7001', and not with tcp://"));
  CHECK_THAT(refusal_of("a=verbs://mlx5_0"),
             Catch::Contains("'mlx5_0' is not a numeric address with a port"));
  CHECK_THAT(
      refusal_of("a=tcp://10.0.0.2"),
      Catch::StartsWith("entry 1, 'a=tcp://10.0.0.2': '10.0.0.2' is not a numeric address with a port"));
  CHECK_THAT(refusal_of("a=tcp://storage-7:7001"), Catch::Contains("'storage-7:7001' is not a numeric"));
  CHECK_THAT(refusal_of("a=tcp://0.0.0.0:7001"),
             Catch::Contains("0.0.0.0:7001 is every address of the host"));
  CHECK_THAT(refusal_of("a=tcp://[::]:7001"), Catch::Contains("a rail needs an address of its own"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001/33"), Catch::EndsWith("'/33', is not 1 to 32"));
  CHECK_THAT(refusal_of("a=tcp://[fd00::2]:7001/129"), Catch::EndsWith("'/129', is not 1 to 128"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001/"), Catch::EndsWith("'/', is not 1 to 32"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001/8/9"), Catch::EndsWith("prefix is given twice"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001%"),
             Catch::EndsWith("'%', is not the name of a network interface"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001%a_name_with_16_le"), Catch::Contains("%a_name_with_16_le"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001!control"), Catch::Contains("'!control' is no class"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:7001, "), Catch::StartsWith("entry 2, ''"));
}

TEST_CASE("rails that do not go together are refused") {
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:1, a=tcp://10.0.0.3:1"),
             Catch::EndsWith("the name a is given to two rails"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:1, b=tcp://10.0.0.2:1"),
             Catch::EndsWith("10.0.0.2:1 is also the address of rail a"));
  CHECK_THAT(refusal_of("a=tcp://10.0.0.2:1/24, b=tcp://10.0.0.3:1/24%eth1"),
             Catch::Contains("rail a is in the same network: both need a %device"));
  CHECK(read("a=tcp://10.0.0.2:1/24%eth0, b=tcp://10.0.0.3:1/24%eth1").size() == 2);
  CHECK(read("a=tcp://10.0.0.2:1/24, b=tcp://10.0.1.3:1/24").size() == 2);
  std::string nine;
  for (int i = 1; i <= 9; ++i)
    nine += (i == 1 ? "r" : ", r") + std::to_string(i) + "=tcp://10.0.0." + std::to_string(i) + ":1";
  CHECK_THAT(refusal_of(nine), Catch::EndsWith("a node has at most 8 rails"));
}

TEST_CASE("rails are a setting, which is refused with what is wrong and where") {
  settings s;
  CHECK(s.rails().empty());
  REQUIRE(s.set("rails.use", "a=tcp://10.0.0.2:7001, b=tcp://10.1.0.2:7001!bulk").has_value());
  CHECK(s.rails().size() == 2);
  CHECK(s.rails()[1].bulk);
  CHECK(s.set("rails.use", "a=tcp://10.0.0.2").error() == errc::invalid_argument);
  CHECK_THAT(s.complaint(), Catch::StartsWith("rails.use: entry 1, 'a=tcp://10.0.0.2': "));
  CHECK(s.rails().size() == 2);
}
