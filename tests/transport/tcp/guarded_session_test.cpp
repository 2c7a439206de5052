#include <malloc.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <set>

#include "scoll/coro/error_format.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/transport/memory/transfers.hpp"
#include "tests/transport/security/authority.hpp"
#include "tests/transport/session/ping_pong.hpp"
#include "tests/transport/session/stranger.hpp"
#include "tests/transport/tcp/proxied.hpp"
#include "transport/session/named_rails.hpp"

using namespace network;
using security::authority;
using security::made;
using security::node_files;
using security::node_name;

namespace {

using bytes = proxy::bytes;

constexpr std::string_view mark = "a request that nobody else may read";
// More than a test makes: who cannot prove itself keeps its place for a while.
constexpr std::uint32_t many_handshakes = 100'000;

endpoint_options guarded(node_id id, const security_options& how) {
  endpoint_options o = options_of(id);
  o.security = made(how);
  o.backoff_first = 1ms;
  o.backoff_limit = 1ms;
  o.reconnect_grace = 200ms;
  return o;
}

struct psk_files {
  node_files a, b;
  endpoint_options from() const { return guarded(1, a.psk()); }
  endpoint_options to() const { return guarded(2, b.psk()); }
};

/// Certificates of one authority for nodes 1 and 2.
struct tls_files {
  authority ours;
  node_files a{ours, node_name(1), ours.pem()};
  node_files b{ours, node_name(2), ours.pem()};
  endpoint_options from() const { return guarded(1, a.tls()); }
  endpoint_options to() const { return guarded(2, b.tls()); }
};

bool holds(const bytes& all, std::string_view text) {
  const auto wanted = std::as_bytes(std::span(text));
  return std::search(all.begin(), all.end(), wanted.begin(), wanted.end()) != all.end();
}

/// Sends the mark by each lane, of a node whose service is not asked to understand it.
void send_mark(proxied& p, exchange (&waiting)[2]) {
  int lane = 0;
  for (const auto klass : {traffic_class::call, traffic_class::bulk}) {
    message& m = p.a.ep->acquire_message();
    const ask a{static_cast<std::uint64_t>(7 + lane), 8, 1};
    std::memcpy(m.head_space().data(), &a, sizeof a);
    m.set_head_bytes(sizeof a);
    const auto payload = std::as_bytes(std::span(mark));
    m.copy_payload(payload, wire::checksum(payload));
    REQUIRE(p.a.to(2).request(waiting[lane++], klass, m, max_payload_bytes).has_value());
  }
  REQUIRE(p.until([&] { return p.b.in.seen[7] == 1 && p.b.in.seen[8] == 1; }));
}

bool mark_went_by(const proxied& p) {
  return std::ranges::any_of(p.between.connections, [](const auto& c) { return holds(c.there, mark); });
}

}  // namespace

TEST_CASE("guarded nodes call each other over both lanes, and nobody between them reads it",
          "[reactor][security]") {
  const bool tls = GENERATE(false, true);
  const psk_files psk;
  const tls_files certified;
  proxied p(tls ? certified.from() : psk.from(), tls ? certified.to() : psk.to());
  p.b.take_bulk();
  exchange waiting[2]{exchange([](exchange&, reply_event&) noexcept {}),
                      exchange([](exchange&, reply_event&) noexcept {})};
  send_mark(p, waiting);
  CHECK_FALSE(mark_went_by(p));
  REQUIRE(p.between.connections.size() == 2);
  for (const auto& c : p.between.connections) CHECK(holds(c.there, "SCOL"));  // the greeting is seen
  for (const std::size_t size : {0U, 1U, 8000U, 16300U, 16384U, 32768U}) {
    call control, bulk;
    REQUIRE(p.calls(control, 100 + size, traffic_class::call, size));
    CHECK(control.answered());
    REQUIRE(p.calls(bulk, 200'000 + size, traffic_class::bulk, size));
    CHECK(bulk.answered());
  }
  CHECK(p.b.in.damaged == 2);  // the mark is not what the service expects
  CHECK(p.not_authentic() == 0);
  for (exchange& e : waiting) {
    if (e.pending()) e.cancel();
  }
}

TEST_CASE("without a guard the same request is read by whoever is between", "[reactor][security]") {
  proxied p(options_of(1), options_of(2));
  p.b.take_bulk();
  exchange waiting[2]{exchange([](exchange&, reply_event&) noexcept {}),
                      exchange([](exchange&, reply_event&) noexcept {})};
  send_mark(p, waiting);
  CHECK(mark_went_by(p));
  for (exchange& e : waiting) {
    if (e.pending()) e.cancel();
  }
}

TEST_CASE("a guarded round trip over TCP allocates nothing", "[reactor][security]") {
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  node a(w, files.from());
  node b(w, files.to());
  introduce(a, b);
  b.in.quick = true;
  ping_pong warm(a, 2, 500);
  warm.start();
  REQUIRE(w.until([&] { return warm.left == 0; }));
  w.pass(50ms);
  ping_pong p(a, 2, 1000);
  const std::size_t allocations = allocation_counter::on_this_thread();
  p.start();
  while (p.left != 0) w.loop().run_once(1s);
  CHECK(allocation_counter::on_this_thread() == allocations);
  CHECK(p.failed == 0);
  CHECK(b.in.damaged == 0);
}

TEST_CASE("lent memory arrives whole under a guard whose socket is full again and again",
          "[reactor][security]") {
  const psk_files files;
  proxied p(files.from(), files.to());
  p.between.slow = true;
  std::vector<std::byte> store = test::made(std::size_t{16} << 20U, 1);
  std::vector<std::byte> local(store.size());
  const auto region = memory_region::expose(*p.b.ep, store, memory_access::read);
  REQUIRE(region.has_value());
  const transfers::started<status> pulled(p.w.ex(), pull(*p.a.ep, region->descriptor(), 0, local));
  REQUIRE(p.until([&] { return pulled.done(); }));
  CHECK(pulled->has_value());
  CHECK(local == store);
  CHECK(p.b.ep->statistics().links_broken + p.a.ep->statistics().links_broken == 0);
}

TEST_CASE("who cannot prove itself is refused, and both sides say so", "[reactor][security]") {
  const authority ours, foreign;
  const node_files other_ring(security::key_b);
  const node_files ring;
  const node_files good_1(ours, node_name(1), ours.pem()), good_2(ours, node_name(2), ours.pem());
  const node_files foreign_1(foreign, node_name(1), ours.pem()), foreign_2(foreign, node_name(2), ours.pem());
  const node_files expired_1(ours, node_name(1), ours.pem(), {-7200, -3600});
  const node_files expired_2(ours, node_name(2), ours.pem(), {-7200, -3600});
  const node_files of_3(ours, node_name(3), ours.pem());
  const node_files client(ours, "URI:scoll://test/client/backup", ours.pem());
  struct attempt {
    const char* what;
    endpoint_options from, to;
  };
  const attempt attempts[] = {
      {"another ring", guarded(1, other_ring.psk()), guarded(2, ring.psk())},
      {"no security here", options_of(1), guarded(2, ring.psk())},
      {"no security there", guarded(1, ring.psk()), options_of(2)},
      {"another mode here", guarded(1, good_1.tls()), guarded(2, ring.psk())},
      {"another mode there", guarded(1, ring.psk()), guarded(2, good_2.tls())},
      {"a foreign authority here", guarded(1, foreign_1.tls()), guarded(2, good_2.tls())},
      {"a foreign authority there", guarded(1, good_1.tls()), guarded(2, foreign_2.tls())},
      {"expired here", guarded(1, expired_1.tls()), guarded(2, good_2.tls())},
      {"expired there", guarded(1, good_1.tls()), guarded(2, expired_2.tls())},
      {"node 3 says that it is 1", guarded(1, of_3.tls()), guarded(2, good_2.tls())},
      {"a client says that it is 1", guarded(1, client.tls()), guarded(2, good_2.tls())},
  };
  for (const attempt& each : attempts) {
    INFO(each.what);
    endpoint_options to = each.to;
    to.handshakes_per_host = to.handshake_limit = many_handshakes;
    proxied p(each.from, to);
    call c;
    REQUIRE(c.start(p.a, 2, 1).has_value());
    REQUIRE(p.until([&] { return p.not_authentic() >= 1; }));
    CHECK(p.a.ep->last_refusal() == errc::not_authentic);
    CHECK(p.b.ep->last_refusal() == errc::not_authentic);
    CHECK(p.b.in.seen.empty());
    CHECK_FALSE(p.a.to(2).connected(traffic_class::call));
    CHECK_FALSE(p.b.to(1).connected(traffic_class::call));
    REQUIRE(p.until([&] { return c.ends == 1; }));
    CHECK(c.outcome == errc::not_authentic);
  }
}

TEST_CASE("a node whose certificate names another one is not believed by who connects",
          "[reactor][security]") {
  const authority ours;
  const node_files a(ours, node_name(1), ours.pem()), of_3(ours, node_name(3), ours.pem());
  proxied p(guarded(1, a.tls()), guarded(2, of_3.tls()));
  call c;
  REQUIRE(c.start(p.a, 2, 1).has_value());
  REQUIRE(p.until([&] { return c.ends == 1; }));
  CHECK_FALSE(c.answered());
  CHECK(p.a.ep->last_refusal() == errc::not_authentic);
  CHECK(p.b.in.seen.empty());
}

TEST_CASE("a client proves itself by a certificate of its own class", "[reactor][security]") {
  const authority ours;
  const node_files server(ours, node_name(2), ours.pem());
  const node_files client(ours, "URI:scoll://test/client/backup", ours.pem());
  const node_files node_1(ours, node_name(1), ours.pem());
  tcp_world w(tcp_world::family::v4);
  node b(w, guarded(2, server.tls()));
  const bool right = GENERATE(true, false);
  endpoint_options o = guarded(client_bit | 5, right ? client.tls() : node_1.tls());
  o.client = true;
  node a(w, o);
  REQUIRE(a.ep->add_peer(2, b.ep->listen_address()).has_value());
  call c;
  REQUIRE(c.start(a, 2, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered() == right);
  CHECK((b.ep->statistics().not_authentic != 0) == !right);
}

TEST_CASE("whoever is asked for its id proves it", "[reactor][security]") {
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  node b(w, files.to());
  const auto ask_by = [&](const endpoint_options& o) {
    node a(w, o);
    std::optional<result<node_id>> answer;
    background asking(w.ex(), on_reactor::keep(a.ep->find_node(b.ep->listen_address()), answer));
    REQUIRE(w.until([&] { return answer.has_value(); }));
    return *answer;
  };
  const auto found = ask_by(files.from());
  REQUIRE(found.has_value());
  CHECK(*found == 2);
  const node_files other(security::key_b);
  CHECK(ask_by(guarded(1, other.psk())).error() == errc::not_authentic);
  CHECK(ask_by(options_of(1)).error() == errc::not_authentic);
}

TEST_CASE("each byte of a handshake that is altered ends its connection, and nothing is delivered",
          "[reactor][security]") {
  const bool tls = GENERATE(false, true);
  const bool there = GENERATE(true, false);
  const psk_files psk;
  const tls_files certified;
  endpoint_options from = tls ? certified.from() : psk.from();
  from.reconnect_grace = 60s;
  endpoint_options to = tls ? certified.to() : psk.to();
  from.hello_limit = to.hello_limit = 200ms;  // an altered length makes a side wait for the rest
  to.handshakes_per_host = to.handshake_limit = many_handshakes;
  proxied p(from, to);
  std::size_t altered = 0;        // so many bytes, from the first one on, each in a connection of its own
  std::set<std::size_t> touched;  // these connections
  p.between.passing = [&](proxy::connection& c, proxy::way which, bytes& some) {
    if ((which == proxy::way::there) != there) return true;
    const std::size_t before = there ? c.there.size() : c.back.size();
    if (altered >= before && altered < before + some.size() && touched.insert(c.number).second) {
      some[altered - before] ^= std::byte{1};
      ++altered;
    }
    return true;
  };
  call c;
  REQUIRE(c.start(p.a, 2, 1).has_value());
  REQUIRE(p.until([&] { return c.ends == 1; }, 60s));
  REQUIRE(c.answered());
  CHECK(p.b.in.seen[1] == 1);
  // Every byte was altered, each in another connection, which ended.
  CHECK(p.between.connections.size() >= altered);
  CHECK(altered > (there ? 500 : 300));
  CHECK(p.a.ep->statistics().frames_received > 0);
  std::size_t standing = 0;
  for (const auto& each : p.between.connections) standing += !each.over;
  CHECK(standing <= 1);
  CHECK(p.b.ep->usage().handshakes.used == 0);
}

TEST_CASE("a handshake that is cut anywhere leaves nothing behind, and the next one is used",
          "[reactor][security]") {
  const bool there = GENERATE(true, false);
  const psk_files files;
  endpoint_options from = files.from();
  from.reconnect_grace = 60s;
  proxied p(from, files.to());
  p.between.passing = [&](proxy::connection& c, proxy::way which, bytes& some) {
    if ((which == proxy::way::there) != there) return true;
    const std::size_t before = there ? c.there.size() : c.back.size();
    const std::size_t limit = c.number * 7;
    if (before + some.size() <= limit) return true;
    const bool last = limit > 900;
    if (!last) some.resize(limit - before);
    return last;
  };
  call c;
  REQUIRE(c.start(p.a, 2, 1).has_value());
  REQUIRE(p.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  CHECK(p.b.in.seen[1] == 1);
  CHECK(p.between.connections.size() > 30);
  REQUIRE(p.until([&] { return p.b.ep->usage().handshakes.used == 0; }));
}

TEST_CASE("a handshake that is replayed proves nothing", "[reactor][security]") {
  const bool tls = GENERATE(false, true);
  const psk_files psk;
  const tls_files certified;
  proxied p(tls ? certified.from() : psk.from(), tls ? certified.to() : psk.to());
  call c;
  REQUIRE(p.calls(c, 1));
  REQUIRE(c.answered());
  const bytes recorded = p.between.connections.front().there;
  const auto target = socket_address::parse(p.b.ep->listen_address()).value();
  const auto refusals = p.b.ep->statistics().not_authentic;
  unique_fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  REQUIRE(::connect(fd.get(), target.data(), target.size()) == 0);
  REQUIRE(::send(fd.get(), recorded.data(), recorded.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(recorded.size()));
  REQUIRE(p.until([&] { return p.b.ep->statistics().not_authentic == refusals + 1; }));
  CHECK(p.b.in.seen[1] == 1);
  call again;
  REQUIRE(p.calls(again, 2));
  CHECK(again.answered());
  CHECK(p.between.connections.size() == 1);  // the first connection still stands
}

TEST_CASE("an altered record ends its link, and what it carried arrives once by the next one",
          "[reactor][security]") {
  const auto klass = GENERATE(traffic_class::call, traffic_class::bulk);
  const auto where = GENERATE(proxy::way::there, proxy::way::back);
  const psk_files files;
  proxied p(files.from(), files.to());
  p.b.take_bulk();
  call first;
  REQUIRE(p.calls(first, 1, klass));
  for (std::uint64_t round = 0; round < 20; ++round) {
    const std::size_t connections = p.between.connections.size();
    const auto before = p.a.ep->statistics().not_authentic + p.b.ep->statistics().not_authentic;
    bool altered = false;
    p.between.passing = [&](proxy::connection&, proxy::way which, bytes& some) {
      if (which != where || altered) return true;
      some[(round * 37) % some.size()] ^= std::byte{0x40};
      altered = true;
      return true;
    };
    call c;
    REQUIRE(p.calls(c, 10 + round, klass, 4000));
    REQUIRE(altered);
    CHECK(c.answered());
    CHECK(p.b.in.seen[10 + round] == 1);
    CHECK(p.between.connections.size() > connections);
    CHECK(p.a.ep->statistics().not_authentic + p.b.ep->statistics().not_authentic > before);
  }
  CHECK(p.a.in.losses.empty());
  CHECK(p.b.in.losses.empty());
}

TEST_CASE("an identity that is moved to another connection is refused", "[reactor][security]") {
  const bool is_guarded = GENERATE(false, true);
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  node a(w, is_guarded ? files.to() : options_of(2));
  REQUIRE(a.ep->add_peer(7, "127.0.0.1:1").has_value());
  stranger moved(w, 7);
  moved.connect(a.ep->listen_address());
  identity said = moved.greeting(2);
  said.channel[31] = std::byte{1};
  moved.say(stranger::encoded(said));
  CHECK(moved.refused().code == static_cast<std::uint16_t>(errc::not_authentic));
  CHECK_FALSE(a.to(7).connected(traffic_class::call));
}

TEST_CASE("what a stranger may say before it has proven itself is bounded", "[reactor][security]") {
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  endpoint_options o = files.to();
  o.hello_limit = 300ms;
  o.handshakes_per_host = 3;
  node b(w, o);
  hello said;
  said.security = 1;
  const auto prover = o.security->connect(said);
  REQUIRE(prover.has_value());
  const auto opening = stranger::encoded_as(frame_type::hello, said);
  const auto step = [](std::span<const std::byte> payload) {
    frame_header header;
    header.type = frame_type::secure;
    return frame_of(header, {}, payload);
  };
  SECTION("an identity in the clear") {
    stranger s(w, 7);
    s.connect(b.ep->listen_address());
    s.say(opening);
    s.say(stranger::encoded_as(frame_type::identity, s.greeting(2)));
    CHECK(s.refused().code == static_cast<std::uint16_t>(errc::not_authentic));
  }
  SECTION("too many steps") {
    stranger s(w, 7);
    s.connect(b.ep->listen_address());
    s.say(opening);
    for (std::size_t i = 0; i <= link_guard::most_steps; ++i) s.say(step((*prover)->unsent().subspan(i, 1)));
    CHECK(s.refused().code == static_cast<std::uint16_t>(errc::malformed));
  }
  SECTION("a long step") {
    stranger s(w, 7);
    s.connect(b.ep->listen_address());
    s.say(opening);
    s.say(step(bytes(link_guard::most_step_bytes + 1)));
    CHECK(s.refused().code == static_cast<std::uint16_t>(errc::malformed));
  }
  SECTION("nothing more") {
    stranger s(w, 7);
    s.connect(b.ep->listen_address());
    s.say(opening);
    s.say(step((*prover)->unsent()));
    REQUIRE(s.hears(frame_type::secure));
    CHECK(s.refused().code == static_cast<std::uint16_t>(errc::deadline_exceeded));
  }
  SECTION("many who hang up when they are answered") {
    stranger s(w, 7);
    for (int i = 0; i < 3; ++i) {
      s.connect(b.ep->listen_address());
      s.say(opening);
      s.say(step((*prover)->unsent()));
      REQUIRE(s.hears(frame_type::secure));
      s.hang_up();
    }
    s.connect(b.ep->listen_address());
    CHECK(s.is_dropped());
    CHECK(b.ep->last_refusal() == errc::busy);
    CHECK(b.ep->usage().handshakes.used == 3);
    REQUIRE(w.until([&] { return b.ep->usage().handshakes.used == 0; }));  // after the limit of a hello
    s.connect(b.ep->listen_address());
    s.say(opening);
    s.say(step((*prover)->unsent()));
    CHECK(s.hears(frame_type::secure));
  }
  SECTION("many connections of one host") {
    stranger one(w, 7), two(w, 7), three(w, 7), four(w, 7);
    one.connect(b.ep->listen_address());
    two.connect(b.ep->listen_address());
    three.connect(b.ep->listen_address());
    REQUIRE(w.until([&] { return b.ep->usage().handshakes.used == 3; }));
    four.connect(b.ep->listen_address());
    CHECK(four.is_dropped());
    CHECK(b.ep->last_refusal() == errc::busy);
    stranger elsewhere(w, 8);  // of another host
    elsewhere.connect(b.ep->listen_address());
    REQUIRE(w.until([&] { return b.ep->usage().handshakes.used == 4; }));
  }
}

/// Bytes that this process has allocated and not given back; 0 under sanitizers, which have their own allocator.
std::size_t heap_in_use() {
  return allocation_counter::counting ? ::mallinfo2().uordblks : 0;
}

TEST_CASE("a thousand connections that begin a handshake and stop are bounded, and others are served",
          "[reactor][security]") {
  constexpr std::size_t memory_of_stranger = 98304;  // docs/security.md says some 80 KiB
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  node a(w, files.from());
  node b(w, files.to());
  introduce(a, b);
  hello said;
  said.security = 1;
  const auto prover = b.ep->options().security->connect(said);
  REQUIRE(prover.has_value());
  frame_header header;
  header.type = frame_type::secure;
  const bytes begun =
      stranger::encoded_as(frame_type::hello, said) + frame_of(header, {}, (*prover)->unsent());
  const auto target = socket_address::parse(b.ep->listen_address()).value();
  const auto source = socket_address::parse("127.1.9.9:0").value();
  std::deque<unique_fd> held;
  std::size_t most = 0;
  std::size_t most_memory = 0;
  std::uint64_t number = 0;
  const auto call_is_answered = [&] {
    call c;
    REQUIRE(c.start(a, 2, ++number).has_value());
    REQUIRE(w.until([&] { return c.ends == 1; }));
    REQUIRE(c.answered());
  };
  call_is_answered();  // with the first connection, pools and tables are made
  const std::size_t memory_before = heap_in_use();
  for (int i = 0; i < 1000; ++i) {
    unique_fd& fd = held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(bind_source(fd.get(), source).has_value());
    REQUIRE(::connect(fd.get(), target.data(), target.size()) == 0);
    ::send(fd.get(), begun.data(), begun.size(), MSG_NOSIGNAL);
    if (held.size() > 200) held.pop_front();
    w.run_ready();
    most = std::max(most, b.ep->usage().handshakes.used);
    most_memory = std::max(most_memory, heap_in_use() - std::min(heap_in_use(), memory_before));
    if (i % 10 == 0) call_is_answered();
  }
  CHECK(most > 10);
  CHECK(most <= b.ep->options().handshakes_per_host);
  CHECK(most_memory <= b.ep->options().handshakes_per_host * memory_of_stranger);
  CHECK(b.ep->statistics().links_refused > 500);
  CHECK(a.in.losses.empty());
  CHECK(a.ep->statistics().not_authentic == 0);
}

TEST_CASE("an answer in the clear to a guarded hello is not believed", "[reactor][security]") {
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  node a(w, files.from());
  stranger pretends(w, 2);
  pretends.listen(w.address(2));
  REQUIRE(a.ep->add_peer(2, pretends.listen_address()).has_value());
  call c;
  REQUIRE(c.start(a, 2, 1).has_value());
  REQUIRE(w.until([&] { return pretends.linked(); }));
  identity welcome = pretends.greeting(1, 1);
  welcome.known_epoch = 1;
  pretends.say(stranger::encoded(welcome, frame_type::welcome));
  CHECK(pretends.is_dropped());
  CHECK(a.ep->last_refusal() == errc::not_authentic);
  CHECK_FALSE(a.to(2).connected(traffic_class::call));
}

TEST_CASE("a security mode is refused on a transport that cannot guard", "[security]") {
  const psk_files files;
  const auto w = make_memory_world(hardware::simple);  // hardware that reads memory goes past a guard
  const auto rail = w->make_rail(1);
  service in;
  CHECK_THROWS_AS(endpoint(w->ex(), *rail, files.from(), in), failure);
  tcp_world real(tcp_world::family::v4);
  const auto tcp = real.make_rail(1);
  named_rails both;
  REQUIRE(both.add("tcp", *tcp).has_value());
  CHECK(both.can_guard());
  REQUIRE(both.add("sim", *rail).has_value());
  CHECK_FALSE(both.can_guard());
}

TEST_CASE("a cluster changes its key in three steps, and no call or session is lost", "[reactor][security]") {
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  node a(w, files.from());
  node b(w, files.to());
  introduce(a, b);
  std::uint64_t number = 0;
  const auto calls_both_ways = [&](int count) {
    for (int i = 0; i < count; ++i) {
      call there, back;
      REQUIRE(there.start(a, 2, ++number).has_value());
      REQUIRE(back.start(b, 1, ++number).has_value());
      REQUIRE(w.until([&] { return there.ends == 1 && back.ends == 1; }));
      REQUIRE((there.answered() && back.answered()));
    }
  };
  const auto reconnect = [&] {
    w.part(1, 2);
    w.join(1, 2);
  };
  calls_both_ways(10);
  const std::string old_key = security::key_a + "\n", new_key = security::key_b + "\n";
  // Between two steps, and while only one of the two has taken a step, connections break and are made anew.
  for (const std::string& ring : {old_key + new_key, new_key + old_key, new_key}) {
    for (const node_files* each : {&files.a, &files.b}) {
      each->keys.write(ring);
      w.pass(1050ms);
      for (int i = 0; i < 5; ++i) {
        reconnect();
        calls_both_ways(5);
      }
    }
  }
  CHECK(a.in.losses.empty());
  CHECK(b.in.losses.empty());
  CHECK(a.ep->statistics().not_authentic == 0);
  CHECK(b.ep->statistics().not_authentic == 0);
  CHECK(b.in.seen.size() == number / 2);
}

TEST_CASE("files that have changed are read again, and connections that stand go on", "[reactor][security]") {
  const psk_files files;
  tcp_world w(tcp_world::family::v4);
  node a(w, files.from());
  node b(w, files.to());
  introduce(a, b);
  call first;
  REQUIRE(first.start(a, 2, 1).has_value());
  REQUIRE(w.until([&] { return first.ends == 1; }));
  files.b.keys.write(security::key_b);
  w.pass(1100ms);
  call standing;
  REQUIRE(standing.start(a, 2, 2).has_value());
  REQUIRE(w.until([&] { return standing.ends == 1; }));
  CHECK(standing.answered());
  w.part(1, 2);
  w.join(1, 2);
  call refused;
  REQUIRE(refused.start(a, 2, 3).has_value());
  REQUIRE(w.until([&] { return a.ep->last_refusal() == errc::not_authentic; }));
  files.a.keys.write(security::key_b);
  REQUIRE(w.until([&] { return refused.ends == 1; }));
  call with_new_key;
  w.pass(1100ms);
  REQUIRE(with_new_key.start(a, 2, 4).has_value());
  REQUIRE(w.until([&] { return with_new_key.ends == 1; }));
  CHECK(with_new_key.answered());
}
