#include <chrono>
#include <numeric>
#include <string>
#include <vector>

#include "calls.hpp"
#include "scoll/ship/remote_group.hpp"
#include "tests/scoll/collective/probe.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/wire.hpp"

// Nodes that no server lists: their calls, and the broadcasts that members make for them.
using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t client_number = transport::client_bit | 9;

/// A cluster of servers, and one client, which knows only their addresses.
struct with_client {
  explicit with_client(world_kind kind, std::uint32_t servers = 5, const node_options& base = {})
      : c(kind, servers, base), rail(c.surroundings().make_rail(servers + 1)) {
    node_options options;
    options.role = node_role::client;
    options.cluster = c.engine(0).options().cluster;
    options.id = client_number;
    client.emplace(c.get_executor(), *rail, options);
  }
  ~with_client() {
    stop();
    c.until([&] { return rail->open() == 0; });
  }
  void stop() {
    if (!client) return;
    c.run(client->shutdown(1s)).ignore();
    client.reset();
  }
  template <class In, class Out>
  ship_result<Out> ask(std::uint32_t server, const remote_function<In, Out>& f, const In& argument,
                       ship_options options = {}) {
    return c.run(ship(*client, c.address(server), f, argument, options));
  }
  std::size_t places(std::uint32_t server) { return c[server].wire().usage().clients.used; }
  group<probe> make(const tree_spec& tree = kary{2}) {
    c.serve(probe{log});
    return c.make_group<probe>(0, tree);
  }
  auto bcast_at(std::uint32_t server, const group_id& id, std::uint64_t factor,
                remote_bcast_options options = {}) {
    const remote_group<probe> there(*client, c.address(server), id);
    return c.run(bcast(there, {factor}, options));
  }

  cluster c;
  std::unique_ptr<transport::rail> rail;
  std::optional<node> client;
  std::shared_ptr<probe_log> log = std::make_shared<probe_log>();
};

template <class T>
std::vector<std::byte> wired(const T& value) {
  std::vector<std::byte> bytes(wire::encoded_size(value));
  REQUIRE(wire::encode_to(std::span(bytes), value).has_value());
  return bytes;
}

}  // namespace

TEST_CASE("a client draws an id of its own") {
  testing::virtual_executor ex;
  testing::sim_network net{ex.world(), testing::sim_network::usual_chunk_bytes, 2};
  testing::sim_rail one(net, ex, 0), two(net, ex, 1);
  node_options options;
  options.role = node_role::client;
  node a(ex, one, options), b(ex, two, options);
  CHECK(transport::is_client(a.id()));
  CHECK(transport::is_client(b.id()));
  CHECK(a.id() != b.id());
  CHECK(a.listen("sim://1").error() == errc::invalid_argument);
  options.id = 5;
  CHECK(options.validate().error() == errc::invalid_argument);
}

TEST_CASE("a client calls servers by their addresses", "[reactor]") {
  with_client w(any_kind_of_world());
  std::vector<handlers> h(w.c.size());
  for (std::uint32_t i = 0; i < w.c.size(); ++i) h[i].serve_all(w.c[i]);
  for (std::uint32_t i = 0; i < w.c.size(); ++i) {
    const auto sum = w.ask(i, add, {i, 2});
    REQUIRE(sum);
    CHECK(*sum == i + 2);
    CHECK(h[i].last_caller == client_number);
    CHECK(w.places(i) == 1);
  }
  CHECK(*w.ask(2, shout, std::string("hey")) == "hey!");
  SECTION("arguments and results of any size") {
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{100}, std::size_t{32768}, std::size_t{32769}, std::size_t{3} << 20U}) {
      std::vector<std::uint8_t> bytes(size);
      std::iota(bytes.begin(), bytes.end(), std::uint8_t{3});
      const auto back = w.ask(1, echo, bytes);
      REQUIRE(back);
      CHECK(*back == bytes);
    }
  }
  SECTION("deadlines and cancels reach the handler") {
    const auto late = w.ask(3, wait_until_told, nothing{}, {.deadline = 100ms});
    CHECK(late.error() == errc::deadline_exceeded);
    CHECK(w.c.until([&] { return h[3].stopped == 1; }));
  }
  SECTION("a notification") {
    CHECK(w.c.run(notify(*w.client, w.c.address(4), fail, 2U)).has_value());
    CHECK(w.c.until([&] { return h[4].begun == 2; }));
  }
  SECTION("an unknown function, and an address where nobody is") {
    CHECK(w.ask(0, remote_function<nothing, nothing>{"test.none"}, nothing{}).error() ==
          errc::unknown_function);
    const auto nobody = w.ask(0, add, {1, 2}, {.deadline = 300ms});
    CHECK(nobody.has_value());
    CHECK(w.c.run(ship(*w.client, std::string("no address"), add, {1, 2})).error() == errc::invalid_argument);
  }
  SECTION("its place is free when it has gone") {
    w.stop();
    CHECK(w.c.until([&] { return w.places(0) == 0; }));
    CHECK(w.c[0].peers(transport::client_bit, 10).empty());
  }
}

TEST_CASE("the handler of a notification may outlive the client") {
  with_client w(world_kind::memory);
  constexpr remote_function<nothing> linger{"test.linger"};
  event go;
  std::uint32_t ended = 0;
  w.c[0]
      .serve(linger,
             [&](const nothing&, call_context&) -> task<status> {
               co_await go.wait();
               ++ended;
               co_return status{};
             })
      .value();
  const scoll::detail::shipper& calls = scoll::detail::node_access::shipper(w.c[0]);
  REQUIRE(w.c.run(notify(*w.client, w.c.address(0), linger, nothing{})).has_value());
  CHECK(calls.server_calls_of(client_number) == 1);
  w.stop();
  REQUIRE(w.c.until([&] { return w.places(0) == 0; }));
  CHECK(calls.server_calls_of(client_number) == 1);
  go.set();
  REQUIRE(w.c.until([&] { return ended == 1; }));
  CHECK(calls.server_calls_of(client_number) == 0);
  CHECK(calls.server_calls() == 0);
}

TEST_CASE("a client is in no group") {
  with_client w(world_kind::memory);
  w.c.serve(probe{w.log});
  const auto made = w.c.run(w.c[0].create_group<probe>(std::vector<target>{{1, {}}, {client_number, {}}}));
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error() == errc::invalid_argument);
  CHECK_THAT(std::string(made.error().text()), Catch::Contains("is a client"));
}

TEST_CASE("a member broadcasts for a client, who gets the same result", "[reactor]") {
  with_client w(any_kind_of_world(), 9);
  const auto g = w.make();
  for (std::uint32_t root : {0U, 4U, 8U}) {
    const auto r = w.bcast_at(root, g.id(), 3);
    REQUIRE(r.ok());
    CHECK(r->total.value == 3 * triangle(9));
    CHECK(r->members.value == 9);
    CHECK(r.outcome().members() == 9);
    CHECK(r.outcome().clean());
    CHECK(r.may_have_executed());
  }
  SECTION("with the account of members that fail") {
    w.log->failing[5] = error::user(42, "broken disk");
    const auto r = w.bcast_at(2, g.id(), 1);
    CHECK_FALSE(r.ok());
    CHECK(r.status().error() == errc::incomplete);
    CHECK(r->members.value == 8);
    CHECK(r.outcome().failed().ranges().size() == 1);
    CHECK(r.outcome().state(5) == member_state::failed);
    CHECK(r.outcome().why(5).what.detail() == 42);
    CHECK(r.outcome().why(5).what.text() == "broken disk");
    CHECK(r.outcome().why(5).where == phase::execute);
  }
  SECTION("with members known to be dead") {
    w.c.stop(7).ignore();
    w.c.engine(2).on_dead(8, 1);
    CHECK(w.bcast_at(2, g.id(), 1).status().error() == errc::peer_died);
    CHECK_FALSE(w.bcast_at(2, g.id(), 1).may_have_executed());
    const auto r = w.bcast_at(2, g.id(), 1, {.dead = dead_members::try_others});
    CHECK(r.outcome().state(7) == member_state::not_reached);
    CHECK(r->members.value == 8);
  }
  SECTION("its deadline and its stop token travel") {
    w.log->work[6] = 10s;
    const auto late = w.bcast_at(0, g.id(), 1, {.deadline = 400ms});
    CHECK_FALSE(late.ok());
    CHECK(late.outcome().members() == 9);
    CHECK(late.outcome().state(6) != member_state::merged);
    CHECK(w.c.until([&] { return w.log->stopped[6] == 1; }));
  }
  SECTION("errors that are found before anything is sent") {
    group_id other = g.id();
    ++other.counter;
    CHECK(w.bcast_at(0, other, 1).status().error() == errc::unknown_group);
    CHECK_FALSE(w.bcast_at(0, other, 1).has_value());
  }
}

namespace {

/// Adds up the bytes that each member has got.
struct gathered {
  static constexpr service_id id{0x0301};
  static constexpr std::string_view name = "gathered";
  struct request {
    std::uint64_t bytes = 0;
  };
  struct reply {
    sum<std::uint64_t> total;
    sum<std::uint32_t> members;
  };
  struct part {
    std::vector<std::byte> place;
    std::uint64_t total = 0;
  };
  std::shared_ptr<std::map<std::uint32_t, part>> got;

  status prepare(const request& r, bcast_context& c) {
    part& mine = (*got)[c.rank()];
    mine = {};
    if (c.is_root()) return {};
    mine.place.resize(r.bytes);
    return c.receive_bulk(mine.place);
  }
  status on_bulk(const bulk_chunk& chunk, bcast_context& c) {
    for (const std::byte b : chunk.bytes) (*got)[c.rank()].total += static_cast<std::uint8_t>(b);
    return {};
  }
  result<reply> execute(const request&, bcast_context& c) { return reply{{(*got)[c.rank()].total}, {1}}; }
};

}  // namespace

namespace {

/// Collects a word of each member.
struct collected {
  static constexpr service_id id{0x0302};
  static constexpr std::string_view name = "collected";
  static constexpr std::size_t reply_capacity = 64;
  struct request {};
  struct reply {
    std::vector<std::uint64_t> words;
  };
  result<reply> execute(const request&, bcast_context& c) { return reply{{c.rank(), c.rank() + 100}}; }
  static void merge(reply& into, const reply& from) noexcept {
    into.words.insert(into.words.end(), from.words.begin(), from.words.end());
  }
};

}  // namespace

TEST_CASE("what a member has merged may be larger than a reply within the tree") {
  with_client w(world_kind::memory, 9);
  w.c.serve(collected{});
  const auto g = w.c.make_group<collected>(0, flat{});
  const remote_group<collected> there(*w.client, w.c.address(0), g.id());
  const auto r = w.c.run(bcast(there, {}));
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  CHECK(r->words.size() == 18);
}

TEST_CASE("the bulk data of a client reach every member", "[reactor]") {
  with_client w(any_kind_of_world(), 4);
  const gathered s{std::make_shared<std::map<std::uint32_t, gathered::part>>()};
  w.c.serve(s);
  const auto g = w.c.make_group<gathered>(0, kary{2});
  const auto bytes = made((2U << 20U) + 5, 7);
  std::uint64_t each = 0;
  for (const std::byte b : bytes) each += static_cast<std::uint8_t>(b);
  const remote_group<gathered> there(*w.client, w.c.address(1), g.id());
  const auto r = w.c.run(bcast(there, {bytes.size()}, {.bulk = std::span(bytes)}));
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  CHECK(r->total.value == 4 * each);
  CHECK(w.c.quiet());
  SECTION("more than the member holds for others") {
    node_options small;
    small.ship.large_bytes = 1U << 20U;
    with_client tight(world_kind::memory, 2, small);
    tight.c.serve(s);
    const auto h = tight.c.make_group<gathered>(0, kary{2});
    const remote_group<gathered> to(*tight.client, tight.c.address(0), h.id());
    const auto refused = tight.c.run(bcast(to, {bytes.size()}, {.bulk = std::span(bytes)}));
    CHECK(refused.status().error() == errc::too_large);
  }
}

TEST_CASE("a server that broadcasts for nobody says so") {
  node_options base;
  base.serve_broadcasts = false;
  with_client w(world_kind::memory, 3, base);
  const auto g = w.make();
  const auto r = w.bcast_at(0, g.id(), 1);
  CHECK(r.status().error() == errc::unknown_function);
  CHECK_FALSE(r.may_have_executed());
}

TEST_CASE("a broadcast for a client that is gone is aborted") {
  with_client w(world_kind::memory, 3);
  const auto g = w.make();
  w.log->usual = 60s;
  const remote_group<probe> there(*w.client, w.c.address(0), g.id());
  scope s(w.c.get_executor());
  s.spawn([](const remote_group<probe>& to) -> task<void> { co_await bcast(to, {1}); }(there));
  REQUIRE(w.c.until([&] { return w.log->executed.size() == 3; }));
  w.c.surroundings().part(1, 4);
  CHECK(w.c.until([&] { return w.log->stopped.size() == 3; }));
  w.c.run([](scope& of) -> task<void> { co_await of.join(); }(s));
}

TEST_CASE("errors and outcomes travel") {
  const error why = error::user(-7, "a disk of 4 TB is gone");
  struct told {
    error why;
  };
  CHECK(wire::decode_from<told>(wired(told{why}))->why == why);
  CHECK(wired(error()).size() == 8);
  CHECK_FALSE(wire::decode_from<told>(wired(told{}))->why);

  const outcome clean(1000);
  const auto back = wire::decode_from<outcome>(wired(clean));
  REQUIRE(back.has_value());
  CHECK(back->clean());
  CHECK(back->members() == 1000);

  const outcome mixed(10, {{{0, 4}, member_state::merged, 0}, {{4, 10}, member_state::unknown, 1}},
                      {{}, {phase::delivery, {errc::connection_lost, "gone"}, 3}});
  auto bytes = wired(mixed);
  const auto same = wire::decode_from<outcome>(bytes);
  REQUIRE(same.has_value());
  CHECK_FALSE(same->clean());
  CHECK(describe(*same) == describe(mixed));
  SECTION("what does not account for every member is malformed") {
    bytes[0] = std::byte{11};  // of the number of members
    CHECK(wire::decode_from<outcome>(bytes).error() == errc::malformed);
  }
  SECTION("so is every cut, and no altered byte does harm") {
    for (std::size_t size = 0; size < bytes.size(); ++size)
      CHECK_FALSE(wire::decode_from<outcome>(std::span(bytes).first(size)).has_value());
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      auto altered = bytes;
      altered[at] ^= std::byte{0x5a};
      const auto read = wire::decode_from<outcome>(altered);
      if (read) CHECK_FALSE(describe(*read).empty());
    }
  }
}
