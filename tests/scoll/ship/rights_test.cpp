#include <optional>
#include <string>
#include <tuple>

#include "calls.hpp"
#include "scoll/call_rights.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/node_access.hpp"
#include "scoll/ship/remote_group.hpp"
#include "tests/scoll/collective/probe.hpp"
#include "tests/transport/security/authority.hpp"

// Who may call what, and how a call knows its caller.
using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr remote_function<std::uint32_t, std::string> read_block{"rights.read"};
constexpr remote_function<std::uint32_t, std::string> write_block{"rights.write"};

constexpr node_id server = 1;
constexpr node_id a_client = transport::client_bit | 5;

call_rights rights(std::string_view text) {
  auto parsed = call_rights::parse(text);
  if (!parsed) FAIL(parsed.error().text());
  return *parsed;
}

std::string refused(std::string_view text) {
  const auto parsed = call_rights::parse(text);
  REQUIRE(!parsed.has_value());
  CHECK(parsed.error() == errc::invalid_argument);
  return std::string(parsed.error().text());
}

node_options with_rights(std::string_view text, const transport::security_options& security = {}) {
  node_options o;
  o.allow = rights(text);
  o.security = security;
  return o;
}

/// Servers, and clients that know only their addresses.
struct rights_world {
  rights_world(const node_options& base, std::uint32_t servers = 1) : c(world_kind::tcp_v4, servers, base) {
    for (std::uint32_t i = 0; i < servers; ++i) {
      const auto tell = [](const std::uint32_t&, call_context& call) {
        return std::string(call.caller_name());
      };
      c[i].serve(read_block, tell).value();
      c[i].serve(write_block, tell).value();
    }
  }
  /// Has a client do something, which comes and goes.
  template <class Work>
  auto by_client(node_id as, const transport::security_options& security, Work work) {
    const auto rail = c.surroundings().make_rail(c.size() + 1);
    node_options o;
    o.role = node_role::client;
    o.cluster = "test";
    o.id = as;
    o.security = security;
    std::optional<node> client(std::in_place, c.get_executor(), *rail, o);
    auto done = work(*client);
    c.run(client->shutdown(1s)).ignore();
    client.reset();
    c.until([&] { return rail->open() == 0; });
    return done;
  }
  /// The answer to one call of a client that comes and goes.
  ship_result<std::string> ask(const remote_function<std::uint32_t, std::string>& f, node_id as = a_client,
                               const transport::security_options& security = {}) {
    return by_client(as, security, [&](node& client) { return c.run(ship(client, c.address(0), f, 7U)); });
  }
  std::size_t events() {
    std::size_t found = 0;
    for (const node_event& e : c[0].events()) found += e.kind == node_event_kind::not_authorised;
    return found;
  }

  cluster c;
};

}  // namespace

TEST_CASE("a list of rights says who may call what, and a named client's entry replaces that of all") {
  const auto r = rights("client=a|b, client/backup=*, client/idle=service:0x0204, node=c|service:0x0205");
  CHECK(r.may_call(a_client, "", "a"));
  CHECK(r.may_call(a_client, "unlisted", "b"));
  CHECK_FALSE(r.may_call(a_client, "", "c"));
  CHECK_FALSE(r.may_broadcast(a_client, "", service_id{0x0204}));
  CHECK(r.may_call(a_client, "backup", "c"));
  CHECK(r.may_broadcast(a_client, "backup", service_id{0x0999}));
  CHECK_FALSE(r.may_call(a_client, "idle", "a"));
  CHECK(r.may_broadcast(a_client, "idle", service_id{0x0204}));
  CHECK(r.may_call(server, "", "c"));
  CHECK_FALSE(r.may_call(server, "", "a"));
  CHECK(r.may_broadcast(server, "", service_id{0x0205}));
  CHECK_FALSE(r.may_broadcast(server, "", service_id{0x0204}));
  CHECK(rights(to_string(r)).may_call(a_client, "", "b"));
  CHECK(to_string(rights(to_string(r))) == to_string(r));
}

TEST_CASE("without a list everybody may call everything, and with one, clients without an entry nothing") {
  CHECK(call_rights().may_call(a_client, "", "a"));
  CHECK(call_rights().may_broadcast(a_client, "", service_id{1}));
  CHECK(rights("").empty());
  const auto r = rights("client/backup=a");
  CHECK_FALSE(r.may_call(a_client, "", "a"));
  CHECK_FALSE(r.may_call(a_client, "backups", "a"));
  CHECK(r.may_call(server, "", "a"));
  CHECK(r.may_broadcast(server, "", service_id{1}));
}

TEST_CASE("what is wrong with a list of rights is said, with the entry") {
  CHECK_THAT(refused("client"), Catch::StartsWith("entry 1, 'client': expected"));
  CHECK_THAT(refused("client=a, nodes=b"), Catch::StartsWith("entry 2, 'nodes': expected"));
  CHECK_THAT(refused("client/=a"), Catch::StartsWith("entry 1"));
  CHECK_THAT(refused("client=a, client=b"), Catch::Contains("there already"));
  CHECK_THAT(refused("client="), Catch::Contains("a function is missing"));
  CHECK_THAT(refused("client=a||b"), Catch::Contains("a function is missing"));
  CHECK_THAT(refused("client=service:204"), Catch::Contains("service:0x0204"));
  CHECK_THAT(refused("client=service:0xzz"), Catch::Contains("service:0x0204"));
}

TEST_CASE("a client that may not call a function is refused by the server, whatever the client checks",
          "[reactor]") {
  rights_world a(with_rights("client=rights.read"));
  const auto read = a.ask(read_block);
  REQUIRE(read.has_value());
  CHECK(read->empty());  // no certificate, no name
  const auto write = a.ask(write_block);
  REQUIRE(!write.has_value());
  CHECK(write.error() == errc::not_authorised);
  CHECK_FALSE(write.may_have_executed());
  CHECK(a.events() == 1);
}

TEST_CASE("a client is known by the name in its certificate, and may what its entry says", "[reactor]") {
  const security::authority ours;
  const security::node_files node(ours, security::node_name(1), ours.pem());
  const security::node_files backup(ours, "URI:scoll://test/client/backup", ours.pem());
  const security::node_files reader(ours, "URI:scoll://test/client/reader", ours.pem());
  rights_world a(with_rights("client=rights.read, client/backup=rights.read|rights.write", node.tls()));
  CHECK(a.ask(read_block, a_client, backup.tls()).value() == "backup");
  CHECK(a.ask(write_block, a_client, backup.tls()).value() == "backup");
  CHECK(a.ask(read_block, a_client + 1, reader.tls()).value() == "reader");
  const auto write = a.ask(write_block, a_client + 1, reader.tls());
  REQUIRE(!write.has_value());
  CHECK(write.error() == errc::not_authorised);
  CHECK_THAT(std::string(write.error().text()), Catch::Contains("client reader"));
}

TEST_CASE("the id of a client that is there is of no use to a client with another name", "[reactor]") {
  const security::authority ours;
  const security::node_files node(ours, security::node_name(1), ours.pem());
  const security::node_files backup(ours, "URI:scoll://test/client/backup", ours.pem());
  const security::node_files reader(ours, "URI:scoll://test/client/reader", ours.pem());
  rights_world a(with_rights("client=*", node.tls()));
  const auto both = a.by_client(a_client, backup.tls(), [&](class node& first) {
    const auto before = a.c.run(ship(first, a.c.address(0), read_block, 7U));
    const auto stolen = a.ask(read_block, a_client, reader.tls());
    const auto after = a.c.run(ship(first, a.c.address(0), read_block, 7U));
    return std::tuple(before, stolen, after);
  });
  CHECK(std::get<0>(both).value() == "backup");
  CHECK(std::get<1>(both).error() == errc::not_authentic);
  CHECK(std::get<2>(both).value() == "backup");
}

TEST_CASE("a client that speaks as a member of a group is refused, without any list", "[reactor]") {
  struct told final : transport::exchange {
    told() noexcept : exchange(&heard) {}
    static void heard(exchange& e, transport::reply_event& event) noexcept {
      static_cast<told&>(e).outcome = event.outcome ? error() : event.outcome.error();
    }
    std::optional<error> outcome;
  };
  rights_world a({});
  const error outcome = a.by_client(a_client, {}, [&](node& client) {
    client.add_peer(server, a.c.address(0)).value();
    transport::endpoint& wire = scoll::detail::node_access::engine(client).wire();
    told answer;
    transport::message& m = wire.acquire_message();
    m.set_head_bytes(8);
    REQUIRE(wire.find(server)->request(answer, transport::traffic_class::collective, m, 1000).has_value());
    REQUIRE(a.c.until([&] { return answer.outcome.has_value(); }));
    return *answer.outcome;
  });
  CHECK(outcome == errc::not_member);
}

TEST_CASE("a broadcast for a client needs the right to the service, and members look at their root",
          "[reactor]") {
  const bool allowed = GENERATE(false, true);
  const std::string service = fmt::format("service:{:#06x}", static_cast<std::uint32_t>(probe::id));
  SECTION("for a client") {
    rights_world a(with_rights(allowed ? "client=" + service : "client=rights.read"), 3);
    a.c.serve(probe{std::make_shared<probe_log>()});
    const auto g = a.c.make_group<probe>(0, kary{2});
    const auto r = a.by_client(a_client, {}, [&](node& client) {
      const remote_group<probe> there(client, a.c.address(0), g.id());
      return a.c.run(bcast(there, {3}, {}));
    });
    CHECK(r.ok() == allowed);
    if (!allowed) CHECK(r.status().error() == errc::not_authorised);
    CHECK(a.events() == (allowed ? 0 : 1));
  }
  SECTION("of a node") {
    rights_world a(with_rights(allowed ? "node=" + service : "node=rights.read"), 3);
    a.c.serve(probe{std::make_shared<probe_log>()});
    const auto g = a.c.try_group<probe>(0, kary{2});
    CHECK(g.has_value() == allowed);
    if (g) {
      CHECK(a.c.bcast(*g, {3}).ok());
    } else {
      CHECK(g.error() == errc::not_authorised);
    }
  }
}
