#include <string>

#include "scoll/coro/error_format.hpp"
#include "tests/support/stacked_rail.hpp"
#include "tests/transport/memory/transfers.hpp"
#include "tests/transport/security/authority.hpp"
#include "tests/transport/session/call.hpp"
#include "tests/transport/session/nodes.hpp"
#include "tests/transport/session/worlds.hpp"

using namespace network;
using scoll::test::fake_verbs_world;
using security::authority;
using security::node_files;
using security::node_name;

// Queue pairs carry everything in the clear, so a node with a security mode uses them only if it trusts the fabric.

namespace {

endpoint_options trusting(node_id id, security_options how) {
  how.fabric = fabric_trust::trusted;
  endpoint_options o = options_of(id);
  o.security = security::made(how);
  o.reconnect_grace = 200ms;
  return o;
}

std::string complaint_of(world& w, const endpoint_options& o) {
  const auto rail = w.make_rail(o.self);
  service in;
  try {
    const endpoint refused(w.ex(), *rail, o, in);
  } catch (const failure& e) {
    return std::string(e.error().text());
  }
  return {};
}

/// What a node says of its security when it begins to listen.
class listener final : public endpoint_events {
 public:
  std::string said;

  void on_request(request_view&) noexcept override {}
  void on_cancelled(incoming&, const cancel_reason&) noexcept override {}
  void on_session_lost(session&, const error&) noexcept override {}
  void on_security_news(std::string_view what) noexcept override { said += what; }
};

/// Node 1 calls node 2; how that ends, and where the calls went.
struct pair_of_nodes {
  pair_of_nodes(const security_options& from, const security_options& to)
      : a(w, trusting(1, from)), b(w, trusting(2, to)) {
    introduce(a, b);
  }
  error ask(std::uint64_t number, std::size_t bytes = 8) {
    call c;
    REQUIRE(c.start(a, 2, number, bytes).has_value());
    REQUIRE(w.until([&] { return c.ends == 1; }));
    return c.outcome;
  }

  fake_verbs_world w;
  node a, b;
};

}  // namespace

TEST_CASE("a node with a security mode refuses queue pairs, unless it trusts the fabric", "[security]") {
  const node_files files;
  fake_verbs_world w;
  endpoint_options o = options_of(1);
  o.security = security::made(files.psk());
  CHECK(complaint_of(w, o).find("security.fabric = \"trusted\"") != std::string::npos);
  CHECK(complaint_of(w, trusting(1, files.psk())).empty());
}

TEST_CASE("a node that trusts its fabric says when it listens that messages are in the clear", "[security]") {
  const node_files files;
  fake_verbs_world w;
  const auto rail = w.make_rail(1);
  listener heard;
  endpoint e(w.ex(), *rail, trusting(1, files.psk()), heard);
  REQUIRE(e.listen(w.address(1)).has_value());
  CHECK(heard.said.find("in the clear") != std::string::npos);
}

TEST_CASE("nodes that trust their fabric prove who they are, and then call each other in the clear",
          "[security]") {
  const bool tls = GENERATE(false, true);
  const authority ours;
  const node_files a(ours, node_name(1), ours.pem());
  const node_files b(ours, node_name(2), ours.pem());
  pair_of_nodes p(tls ? a.tls() : a.psk(), tls ? b.tls() : b.psk());
  CHECK_FALSE(p.ask(1));
  CHECK_FALSE(p.ask(2, 30000));
  p.w.part(1, 2);
  p.w.join(1, 2);
  CHECK_FALSE(p.ask(3));
  CHECK(p.b.in.seen.size() == 3);
  CHECK(p.b.in.damaged == 0);
  CHECK(p.w.devices.statistics().sends > 6);
}

TEST_CASE("over a trusted fabric, too, nobody is believed who proves nothing", "[security]") {
  const authority ours;
  const authority theirs;
  const node_files good(ours, node_name(2), ours.pem());
  SECTION("with another key") {
    const node_files other(security::key_b);
    pair_of_nodes p(other.psk(), good.psk());
    CHECK(p.ask(1));
    CHECK(p.a.ep->last_refusal() == errc::not_authentic);
    CHECK(p.b.ep->last_refusal() == errc::not_authentic);
    CHECK(p.b.in.seen.empty());
  }
  SECTION("with the certificate of another authority") {
    const node_files other(theirs, node_name(1), ours.pem());
    pair_of_nodes p(other.tls(), good.tls());
    CHECK(p.ask(1));
    CHECK(p.b.ep->last_refusal() == errc::not_authentic);
    CHECK(p.b.in.seen.empty());
  }
  SECTION("with the certificate of another node") {
    const node_files other(ours, node_name(3), ours.pem());
    pair_of_nodes p(other.tls(), good.tls());
    CHECK(p.ask(1));
    CHECK(p.a.ep->last_refusal() == errc::not_authentic);
    CHECK(p.b.in.seen.empty());
  }
  SECTION("without a mode") {
    pair_of_nodes p({}, good.psk());
    CHECK(p.ask(1));
    CHECK(p.b.ep->last_refusal() == errc::not_authentic);
    CHECK(p.b.in.seen.empty());
  }
}

TEST_CASE("a node finds out who is at an address of a trusted fabric, if both have the key", "[security]") {
  const node_files files;
  const node_files other(security::key_b);
  fake_verbs_world w;
  node a(w, trusting(1, files.psk()));
  node b(w, trusting(2, files.psk()));
  node c(w, trusting(3, other.psk()));
  const auto found = transfers::finish(w, a.ep->find_node(b.ep->listen_address()));
  REQUIRE(found.has_value());
  CHECK(*found == 2);
  CHECK(transfers::finish(w, c.ep->find_node(b.ep->listen_address())).error() == errc::not_authentic);
}
