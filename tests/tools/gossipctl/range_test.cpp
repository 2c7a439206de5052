#include "tests/catch.hpp"
#include "tools/gossipctl/cluster/participant_list.hpp"

using gossipctl::expand_list;
using gossipctl::list_mistake;
using gossipctl::list_options;

namespace {

using list = std::vector<std::string>;

using scoll::gossip::participant_entry;
using entries = std::vector<participant_entry>;

entries with_ids(std::string_view text, const list_options& options = {7400, 65'536, {}}) {
  const auto made = expand_list(text, options);
  if (const auto* m = std::get_if<list_mistake>(&made)) FAIL(to_string(*m));
  return std::get<entries>(made);
}

list expanded(std::string_view text, const list_options& options = {7400, 65'536, {}}) {
  list all;
  for (const participant_entry& e : with_ids(text, options)) {
    CHECK(e.id == 0);
    REQUIRE(e.addresses.size() == 1);
    all.push_back(e.addresses.front());
  }
  return all;
}

std::string refused(std::string_view text, const list_options& options = {7400, 65'536, {}}) {
  const auto made = expand_list(text, options);
  REQUIRE(std::holds_alternative<list_mistake>(made));
  return to_string(std::get<list_mistake>(made));
}

}  // namespace

TEST_CASE("ranges expand in order, the last one fastest") {
  const list all = expanded("192.168.[1-2].[1-128/2]");
  REQUIRE(all.size() == 128);
  REQUIRE(all[0] == "192.168.1.1:7400");
  REQUIRE(all[1] == "192.168.1.3:7400");
  REQUIRE(all[63] == "192.168.1.127:7400");
  REQUIRE(all[64] == "192.168.2.1:7400");
  REQUIRE(all[127] == "192.168.2.127:7400");
}

TEST_CASE("entries are separated by lines, spaces and commas, with comments") {
  REQUIRE(expanded("10.0.0.1, 10.0.0.2:9 # two\n\n  10.0.0.3\t10.0.0.[4,6-7]:80\r\n") ==
          list{"10.0.0.1:7400", "10.0.0.2:9", "10.0.0.3:7400", "10.0.0.4:80", "10.0.0.6:80", "10.0.0.7:80"});
  REQUIRE(expanded("") == list{});
  REQUIRE(expanded("# nobody\n") == list{});
}

TEST_CASE("ports may be ranges") {
  REQUIRE(expanded("127.0.0.1:[7000-7002]") == list{"127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002"});
  REQUIRE(expanded("10.0.[0-1].1:[80,443]") ==
          list{"10.0.0.1:80", "10.0.0.1:443", "10.0.1.1:80", "10.0.1.1:443"});
}

TEST_CASE("IPv6 addresses count in hexadecimal, their ports do not") {
  REQUIRE(expanded("[fd00::1]:7000 fd00::2 [fd00::3]") ==
          list{"[fd00::1]:7000", "[fd00::2]:7400", "[fd00::3]:7400"});
  REQUIRE(expanded("[fd00::[e-11]]:7000") ==
          list{"[fd00::e]:7000", "[fd00::f]:7000", "[fd00::10]:7000", "[fd00::11]:7000"});
  REQUIRE(expanded("[fd00:[1-2]::1]:[10-11]") ==
          list{"[fd00:1::1]:10", "[fd00:1::1]:11", "[fd00:2::1]:10", "[fd00:2::1]:11"});
  REQUIRE(expanded("fd00::[1-2]") == list{"[fd00::1]:7400", "[fd00::2]:7400"});
  REQUIRE(expanded("[FD00:0::0001]:1") == list{"[fd00::1]:1"});
}

TEST_CASE("addresses by RDMA count like others") {
  REQUIRE(expanded("verbs://10.0.0.[9-11]") ==
          list{"verbs://10.0.0.9:7400", "verbs://10.0.0.10:7400", "verbs://10.0.0.11:7400"});
  REQUIRE(expanded("verbs://127.0.0.1:[9-10]") == list{"verbs://127.0.0.1:9", "verbs://127.0.0.1:10"});
  REQUIRE(expanded("verbs://[fd00::[e-10]]:7") ==
          list{"verbs://[fd00::e]:7", "verbs://[fd00::f]:7", "verbs://[fd00::10]:7"});
  const entries two = with_ids("[1-2]=10.0.0.[1-2]+verbs://10.1.0.[1-2]");
  REQUIRE(two[1].addresses == list{"10.0.0.2:7400", "verbs://10.1.0.2:7400"});
  REQUIRE(refused("1=10.0.0.1+verbs://10.0.0.1").find("10.0.0.1:7400 is there twice") != std::string::npos);
  REQUIRE(refused("verbs://10.0.0.[1-x]").find("column 19: expected a number") != std::string::npos);
}

TEST_CASE("an entry may have an id and an address on each rail, and its parts count in step") {
  const entries one = with_ids("7=10.0.0.7+10.1.0.7:80+[fd00::7]:9");
  REQUIRE(one.size() == 1);
  REQUIRE(one[0].id == 7);
  REQUIRE(one[0].addresses == list{"10.0.0.7:7400", "10.1.0.7:80", "[fd00::7]:9"});
  const entries many = with_ids("[1-2]=10.0.0.[1-2]+10.1.0.[11,15], [10,20]=10.0.0.[3-4]");
  REQUIRE(many.size() == 4);
  REQUIRE(many[0].id == 1);
  REQUIRE(many[0].addresses == list{"10.0.0.1:7400", "10.1.0.11:7400"});
  REQUIRE(many[1].id == 2);
  REQUIRE(many[1].addresses == list{"10.0.0.2:7400", "10.1.0.15:7400"});
  REQUIRE(many[3].id == 20);
  REQUIRE(many[3].addresses == list{"10.0.0.4:7400"});
  REQUIRE(with_ids("18446744073709551615=10.0.0.1")[0].id == UINT64_MAX);
}

TEST_CASE("what is wrong with ids and rails is told with its place") {
  REQUIRE(refused("0=10.0.0.1") ==
          "line 1, column 1: '0' is no id: expected a number from 1 on in '0=10.0.0.1'");
  REQUIRE(refused("a=10.0.0.1").find("'a' is no id") != std::string::npos);
  REQUIRE(refused("=10.0.0.1").find("column 1: expected an address or an id") != std::string::npos);
  REQUIRE(refused("1=10.0.0.1+").find("column 12: expected an address or an id") != std::string::npos);
  REQUIRE(refused("[1-3]=10.0.0.[1-2]") ==
          "line 1, column 1: '10.0.0.[1-2]' counts to 2 and '[1-3]' to 3 in '[1-3]=10.0.0.[1-2]'");
  REQUIRE(
      refused("[1-2]=10.0.0.[1-2]+10.1.0.1") ==
      "line 1, column 20: '10.0.0.[1-2]' counts to 2 and '10.1.0.1' to 1 in '[1-2]=10.0.0.[1-2]+10.1.0.1'");
  REQUIRE(refused("10.0.0.1+10.1.0.1").find("column 10: several addresses need an id") != std::string::npos);
  REQUIRE(refused("1=10.0.0.1+10.0.0.1").find("column 12: 10.0.0.1:7400 is there twice") !=
          std::string::npos);
  REQUIRE(refused("1=10.0.0.1+10.1.0.1 2=10.0.0.2+[fd00::1]:1").find("is of another address family") !=
          std::string::npos);
  REQUIRE(refused("7=10.0.0.1+10.1.0.[1-").find("column 22: '[' is never closed") != std::string::npos);
}

TEST_CASE("a list may name files, which may not name others") {
  list_options options{7400, 65'536, [](const std::string& path) -> std::optional<std::string> {
                         if (path == "hosts") return "10.0.0.[1-2]\n10.0.0.9\n";
                         if (path == "bad") return "10.0.0.1\n10.0.0.[3-1]\n";
                         if (path == "loop") return "@loop\n";
                         return std::nullopt;
                       }};
  REQUIRE(expanded("@hosts 10.0.0.7", options) ==
          list{"10.0.0.1:7400", "10.0.0.2:7400", "10.0.0.9:7400", "10.0.0.7:7400"});
  REQUIRE(refused("@bad", options) == "bad:2:9: the range ends before it begins in '10.0.0.[3-1]'");
  REQUIRE(refused("@none", options) == "line 1, column 2: the file none cannot be read in '@none'");
  REQUIRE(refused("@loop", options) == "loop:1:1: a file of participants names another file in '@loop'");
}

TEST_CASE("what is wrong is told with its place") {
  REQUIRE(refused("10.0.0.1\n  10.0.0.[1-") == "line 2, column 13: '[' is never closed in '10.0.0.[1-'");
  REQUIRE(refused("10.0.0.[1") == "line 1, column 8: '[' is never closed in '10.0.0.[1'");
  REQUIRE(refused("10.0.0.1]") == "line 1, column 9: ']' without '[' in '10.0.0.1]'");
  REQUIRE(refused("10.0.0.[]") == "line 1, column 9: expected a number in '10.0.0.[]'");
  REQUIRE(refused("10.0.0.[1-x]") == "line 1, column 11: expected a number in '10.0.0.[1-x]'");
  REQUIRE(refused("10.0.0.[1;3]") ==
          "line 1, column 10: ';' in a range: expected '-', '/', ',' or ']' in '10.0.0.[1;3]'");
  REQUIRE(refused("10.0.0.[1-9/0]") == "line 1, column 13: a step of 0 in '10.0.0.[1-9/0]'");
  REQUIRE(refused("10.0.0.[1-99999999999]") ==
          "line 1, column 11: a number that is too large in '10.0.0.[1-99999999999]'");
  REQUIRE(refused("10.0.0.[254-256]").find("'10.0.0.256' is no address") != std::string::npos);
  REQUIRE(refused("ucx://10.0.0.1").find("gossip goes by UDP, or by RDMA with verbs://") !=
          std::string::npos);
  REQUIRE(refused("10.0.0.1, verbs://10.0.0.2").find("is by RDMA, unlike those before") != std::string::npos);
  REQUIRE(refused("verbs://10.0.0.1, 10.0.0.2").find("is by UDP, without verbs://") != std::string::npos);
  REQUIRE(refused("storage-1").find("'storage-1' is no address") != std::string::npos);
  REQUIRE(refused("10.0.0.1", {}) ==
          "line 1, column 1: '10.0.0.1' names no port, and there is no default in '10.0.0.1'");
  REQUIRE(refused("10.0.0.1:0") == "line 1, column 1: '10.0.0.1:0' has port 0 in '10.0.0.1:0'");
}

TEST_CASE("an address may be there once, and all are of one family") {
  REQUIRE(refused("10.0.0.[1-3] 10.0.0.2") ==
          "line 1, column 14: 10.0.0.2:7400 is there twice in '10.0.0.2'");
  REQUIRE(refused("10.0.0.1 [fd00::1]:7400").find("is of another address family") != std::string::npos);
}

TEST_CASE("expansion is bounded before it begins") {
  REQUIRE(expanded("10.[0-255].[0-255].1").size() == 65'536);
  REQUIRE(refused("10.[0-255].[0-255].[1-2]") ==
          "line 1, column 1: more than 65536 participants in '10.[0-255].[0-255].[1-2]'");
  REQUIRE(refused("10.0.0.[0-4294967295]") ==
          "line 1, column 9: more than 65536 participants in '10.0.0.[0-4294967295]'");
  REQUIRE(refused("10.0.0.[1-3] 10.0.1.1", {7400, 3, {}}).find("more than 3 participants") !=
          std::string::npos);
}
