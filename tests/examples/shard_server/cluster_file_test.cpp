#include "examples/shard_server/cluster/cluster_file.hpp"

#include "examples/shard_server/server/server.hpp"
#include "tests/catch.hpp"

using namespace shard;

namespace {

using addresses = std::vector<std::string>;

std::string file_with(const std::string& node) {
  return "name = \"test\"\n[[node]]\nid = 1\n" + node + "\ncontrol = \"1.sock\"\n";
}

cluster_node node_of(const std::string& node) {
  const auto read = parse_cluster(file_with(node), "cluster.toml");
  const auto* const wrong = std::get_if<std::string>(&read);
  INFO((wrong == nullptr ? "" : *wrong));
  REQUIRE(wrong == nullptr);
  return std::get<cluster_config>(read).nodes.at(0);
}

std::string refusal_of(const std::string& node) {
  const auto read = parse_cluster(file_with(node), "cluster.toml");
  const auto* const wrong = std::get_if<std::string>(&read);
  return wrong == nullptr ? "it was accepted" : *wrong;
}

}  // namespace

TEST_CASE("a server of a cluster file has one address or several") {
  const cluster_node one = node_of("address = \"127.0.0.1:7001\"");
  CHECK(one.address == "127.0.0.1:7001");
  CHECK(one.addresses == addresses{"127.0.0.1:7001"});
  const cluster_node two = node_of("addresses = [\"127.20.0.1:7001\", \"127.21.0.1:7001\"]");
  CHECK(two.address == "127.20.0.1:7001");
  CHECK(two.addresses == addresses{"127.20.0.1:7001", "127.21.0.1:7001"});
}

TEST_CASE("addresses of a cluster file may name their transport, which gossip takes, too") {
  const cluster_node both = node_of("addresses = [\"10.0.0.1:7001\", \"verbs://10.0.0.1:7002\"]");
  CHECK(both.addresses == addresses{"10.0.0.1:7001", "verbs://10.0.0.1:7002"});
  CHECK(both.places == addresses{"10.0.0.1:7001", "10.0.0.1:7002"});
  CHECK(both.gossip == addresses{"10.0.0.1:7001", "verbs://10.0.0.1:7002"});
  const auto rails = rails_of(both, {}).value();
  REQUIRE(rails.size() == 2);
  CHECK(rails[0] == scoll::rail_entry{"a", "10.0.0.1:7001", 0, "", false});
  CHECK(rails[1] == scoll::rail_entry{"b", "10.0.0.1:7002", 0, "", true, scoll::rail_kind::verbs});
  const cluster_node rdma = node_of("address = \"verbs://10.0.0.1:7001\"");
  CHECK(rdma.address == "10.0.0.1:7001");
  CHECK(rdma.gossip == addresses{"verbs://10.0.0.1:7001"});
  REQUIRE(rails_of(rdma, {}).value().size() == 1);
  CHECK(rails_of(rdma, {}).value()[0].kind == scoll::rail_kind::verbs);
  CHECK(rails_of(node_of("address = \"tcp://10.0.0.1:7001\""), {}).value().empty());
}

TEST_CASE("wrong addresses of a cluster file are refused, with the place") {
  using Catch::Contains;
  CHECK_THAT(refusal_of(""), Contains("node 1: 'address' is missing"));
  CHECK_THAT(refusal_of("address = \"10.0.0.1:1\"\naddresses = [\"10.0.0.2:1\"]"),
             Contains("cluster.toml:4:11: node 1: 'address' is given beside 'addresses'"));
  CHECK_THAT(refusal_of("addresses = []"), Contains("'addresses' must be a list of addresses"));
  CHECK_THAT(refusal_of("addresses = \"10.0.0.1:1\""), Contains("'addresses' must be a list of addresses"));
  CHECK_THAT(refusal_of("addresses = [\"10.0.0.1:1\", \"10.0.0.2\"]"),
             Contains("'addresses' has '10.0.0.2', which is not an address"));
  CHECK_THAT(refusal_of("addresses = [\"10.0.0.1:1\", \"10.0.0.2:0\"]"), Contains("which needs a port"));
  CHECK_THAT(refusal_of("addresses = [\"10.0.0.1:1\", \"10.0.0.1:1\"]"),
             Contains("address 10.0.0.1:1 appears twice"));
  CHECK_THAT(refusal_of("addresses = [\"10.0.0.1:1\", \"verbs://10.0.0.1:1\"]"),
             Contains("address 10.0.0.1:1 appears twice"));  // a rail by RDMA listens by TCP, too
  CHECK_THAT(refusal_of("address = \"udp://10.0.0.1:1\""), Contains("of the transport udp"));
  CHECK_THAT(refusal_of("addresses = [\"1.0.0.1:1\", \"1.0.0.2:1\", \"1.0.0.3:1\", \"1.0.0.4:1\", "
                        "\"1.0.0.5:1\", \"1.0.0.6:1\", \"1.0.0.7:1\", \"1.0.0.8:1\", \"1.0.0.9:1\"]"),
             Contains("'addresses' has 9: at most 8 are allowed"));
}

TEST_CASE("a server has the rails that were chosen, or one for each of its addresses") {
  const cluster_node one = node_of("address = \"127.0.0.1:7001\"");
  CHECK(rails_of(one, {}).value().empty());
  const cluster_node two = node_of("addresses = [\"127.20.0.1:7001\", \"127.21.0.1:7001\"]");
  const auto made = rails_of(two, {}).value();
  REQUIRE(made.size() == 2);
  CHECK(made[1] == scoll::rail_entry{"b", "127.21.0.1:7001", 0, "", false});
  const auto chosen = scoll::parse_rails("x=tcp://127.20.0.1:7001/24, y=tcp://127.21.0.1:7001/24!bulk").rails;
  CHECK(rails_of(two, chosen).value() == chosen);
  const auto refused = rails_of(one, chosen);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().text() == "rails.use has 2 rails, and node 1 of the cluster file 1 addresses");
}

TEST_CASE("a server of a cluster file has a zone and a host if the file says so") {
  using Catch::Contains;
  const std::string address = "address = \"10.0.0.1:1\"\n";
  CHECK(node_of(address).where == scoll::member_place{});
  const cluster_node placed = node_of(address + "zone = 65535\nhost = 2");
  CHECK(placed.where == scoll::member_place{65535, 2});
  CHECK(placed.as_target().zone == 65535);
  CHECK(placed.as_target().host == 2);
  CHECK_THAT(refusal_of(address + "zone = 65536"), Contains("node 1: 'zone' must be 1 to 65535"));
  CHECK_THAT(refusal_of(address + "host = -1"), Contains("node 1: 'host' must be 1 to 65535"));
}

TEST_CASE("the targets of a cluster file have places, and its tree may be zoned") {
  const std::string text =
      "name = \"test\"\ntree = \"zoned:2,4\"\n[[node]]\nid = 3\naddress = \"10.0.0.1:1\"\ncontrol = "
      "\"a\"\nzone = 7\n"
      "[[node]]\nid = 1\naddress = \"10.0.0.2:1\"\ncontrol = \"b\"\n";
  const auto read = parse_cluster(text, "cluster.toml");
  REQUIRE(std::get_if<std::string>(&read) == nullptr);
  const auto& config = std::get<cluster_config>(read);
  CHECK(config.tree == scoll::tree_spec(scoll::zoned{2, 4}));
  const auto members = scoll::membership::make(config.targets()).value();
  CHECK(members->place(0) == scoll::member_place{7, 0});
  CHECK(members->place(1) == scoll::member_place{});
}
