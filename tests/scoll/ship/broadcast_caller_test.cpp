#include <map>
#include <memory>
#include <string>
#include <utility>

#include "scoll/ship/remote_group.hpp"
#include "tests/scoll/collective/probe.hpp"
#include "tests/transport/security/authority.hpp"

// The hooks of a broadcast know who asks for it, on every member.
using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

using askers = std::map<std::uint32_t, std::pair<node_id, std::string>>;

/// Notes, by rank, who asks.
struct who_asks {
  static constexpr service_id id{0x0211};
  static constexpr std::string_view name = "who asks";
  struct request {
    std::uint32_t pass = 0;
    std::string ballast;
  };
  using reply = sum<std::uint32_t>;
  std::shared_ptr<askers> seen = std::make_shared<askers>();

  reply execute(const request&, bcast_context& c) {
    (*seen)[c.rank()] = {c.caller(), std::string(c.caller_name())};
    return {1};
  }
};

/// The same for groups whose members it names, which takes a while: meanwhile requests wait.
struct who_asks_slowly : who_asks {
  static constexpr service_id id{0x0212};
  static constexpr std::string_view name = "who asks slowly";
  membership_ptr all;

  task<result<membership_ptr>> members(std::uint64_t) {
    co_await sleep_for(1ms);
    co_return all;
  }
};

constexpr std::uint32_t members = 4;
constexpr node_id somebody = transport::client_bit | 5;

std::string node_names() {
  std::string all;
  for (std::uint32_t i = 1; i <= members; ++i) all += (i == 1 ? "" : ",") + security::node_name(i);
  return all;
}

node_options with(const transport::security_options& security) {
  node_options o;
  o.security = security;
  return o;
}

/// Members in a chain, so that what the last one sees has been passed on twice.
struct asked_cluster {
  explicit asked_cluster(const transport::security_options& security = {})
      : c(world_kind::tcp_v4, members, with(security)) {
    c.serve(service);
  }
  void ask_as(const transport::security_options& security, std::size_t ballast = 0) {
    ask_as<who_asks>(c.make_group<who_asks>(0, chain{}), security, ballast);
  }
  template <class Service>
  void ask_as(const group<Service>& g, const transport::security_options& security, std::size_t ballast = 0) {
    const auto rail = c.surroundings().make_rail(c.size() + 1);
    node_options o = with(security);
    o.role = node_role::client;
    o.cluster = "test";
    o.id = somebody;
    {
      node client(c.get_executor(), *rail, o);
      const remote_group<Service> there(client, c.address(0), g.id());
      const auto r = c.run(bcast(there, {1, std::string(ballast, 'x')}, {}));
      CHECK(r.ok());
      c.run(client.shutdown(1s)).ignore();
    }
    c.until([&] { return rail->open() == 0; });
  }
  void all_saw(node_id caller, const std::string& name) {
    REQUIRE(service.seen->size() == members);
    for (const auto& [rank, asker] : *service.seen) {
      CHECK(asker.first == caller);
      CHECK(asker.second == name);
    }
  }

  cluster c;
  who_asks service;
};

}  // namespace

TEST_CASE("every member knows the client for which its root broadcasts, by its name", "[reactor]") {
  const security::authority ours;
  const security::node_files node(ours, node_names(), ours.pem());
  const std::string name = GENERATE(std::string("backup"), std::string(64, 'b'));
  const security::node_files client(ours, "URI:scoll://test/client/" + name, ours.pem());
  asked_cluster a(node.tls());
  const std::size_t ballast = GENERATE(0U, 200U, 4'000U);
  a.ask_as(client.tls(), ballast);
  a.all_saw(somebody, name);
}

TEST_CASE("a client that has shown no name is known by its id", "[reactor]") {
  asked_cluster a;
  a.ask_as({});
  a.all_saw(somebody, {});
}

TEST_CASE("a member that has to learn of the group first knows who asks, too", "[reactor]") {
  asked_cluster a;
  who_asks_slowly slow;
  slow.seen = a.service.seen;
  slow.all = membership::make(a.c.targets()).value();
  a.c.serve(slow);
  group_options in_a_chain;
  in_a_chain.tree = chain{};
  a.ask_as<who_asks_slowly>(a.c.run(a.c[0].out_of_band<who_asks_slowly>(7, in_a_chain)).value(), {});
  a.all_saw(somebody, {});
}

TEST_CASE("the root asks for its own broadcasts, also after one for a client", "[reactor]") {
  asked_cluster a;
  a.ask_as({});
  a.service.seen->clear();
  const auto g = a.c.make_group<who_asks>(1, chain{});
  CHECK(a.c.bcast(g, {1, {}}).ok());
  a.all_saw(2, {});
}

TEST_CASE("a name that is too long for a request proves no client", "[security]") {
  const security::authority ours;
  const security::node_files files(ours, "URI:scoll://test/client/" + std::string(65, 'b'), ours.pem());
  const security::node_files node(ours, node_names(), ours.pem());
  asked_cluster a(node.tls());
  const auto g = a.c.make_group<who_asks>(0, chain{});
  const auto rail = a.c.surroundings().make_rail(a.c.size() + 1);
  node_options o = with(files.tls());
  o.role = node_role::client;
  o.cluster = "test";
  o.id = somebody;
  {
    class node client(a.c.get_executor(), *rail, o);
    const remote_group<who_asks> there(client, a.c.address(0), g.id());
    const auto r = a.c.run(bcast(there, {1, {}}, {}));
    CHECK(r.status().error() == errc::not_authentic);
    a.c.run(client.shutdown(1s)).ignore();
  }
  a.c.until([&] { return rail->open() == 0; });
  CHECK(a.service.seen->empty());
}
