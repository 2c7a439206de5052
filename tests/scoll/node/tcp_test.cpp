#include <chrono>
#include <string>

#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/node_access.hpp"
#include "tests/catch.hpp"
#include "tests/scoll/collective/cluster.hpp"
#include "tests/scoll/coro/death.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using test::cluster;
using test::world_kind;

namespace {

/// Counts the entities of all members.
struct survey {
  static constexpr service_id id{0x0204};
  struct request {};
  using reply = sum<std::uint64_t>;
  static reply execute(const request&, bcast_context& c) { return {c.entities().size()}; }
};

struct total {
  static constexpr service_id id{0x0201};
  struct request {
    std::uint64_t factor;
  };
  struct reply {
    sum<std::uint64_t> value;
  };
  static task<result<reply>> execute(const request& r, bcast_context& c) {
    co_return reply{{r.factor * (c.rank() + 1)}};
  }
};

/// Carries a request of any size and answers with its length, so that whole payloads cross every hop.
struct measure {
  static constexpr service_id id{0x0202};
  struct request {
    std::vector<std::byte> bytes;
  };
  struct reply {
    sum<std::uint64_t> bytes;
  };
  static reply execute(const request& r, bcast_context&) { return {{r.bytes.size()}}; }
};

/// Answers with a list that takes many kilobytes once merged.
struct listing {
  static constexpr service_id id{0x0203};
  struct request {
    std::uint32_t bytes_each;
  };
  using reply = concatenation<std::string>;
  static reply execute(const request& r, bcast_context& c) {
    reply said;
    said.parts.push_back(
        {c.rank(), false, std::string(r.bytes_each, static_cast<char>('a' + c.rank() % 26))});
    return said;
  }
};

task<void> broadcast_many(const group<total>& g, int times, std::uint64_t expected, int& good) {
  for (int i = 0; i < times; ++i) {
    auto r = co_await bcast(g, total::request{2});
    good += r.ok() && r->value.value == expected;
  }
}

rank_set rank_set_of(std::uint32_t first, std::uint32_t last) {
  rank_set set;
  set.append(first, last);
  return set;
}

std::uint64_t triangle(std::uint64_t n) {
  return n * (n + 1) / 2;
}

}  // namespace

TEST_CASE("broadcasts over TCP reach everybody, on IPv4 and IPv6", "[tcp]") {
  for (const world_kind kind : {world_kind::tcp_v4, world_kind::tcp_v6}) {
    cluster c(kind, 10);
    c.serve(total{});
    for (const tree_spec& tree :
         {tree_spec(knomial{2}), tree_spec(kary{3}), tree_spec(chain{}), tree_spec(flat{})}) {
      auto g = c.make_group<total>(3, tree);
      int good = 0;
      c.run(broadcast_many(g, 20, 2 * triangle(10), good));
      REQUIRE(good == 20);
      REQUIRE(c.run(c[3].destroy(g)).has_value());
    }
    for (std::uint32_t i = 0; i < c.size(); ++i)
      REQUIRE(scoll::detail::node_access::engine(c[i]).groups() == 0);
  }
}

TEST_CASE("a steady state allocates nothing, on root, interior and leaf", "[tcp]") {
  if (!allocation_counter::counting || !frame_pool::pooling) {
    SUCCEED("sanitizers bring their own allocator");
    return;
  }
  cluster c(world_kind::tcp_v4, 7);
  c.serve(total{});
  auto g = c.make_group<total>(0, knomial{2});  // levels: root, interior, interior, leaf
  int good = 0;
  // A pool grows whenever more is under way than ever before, which a busy machine brings about at any time. What
  // every broadcast allocated would show each time.
  constexpr int rounds = 500;
  constexpr int most_times = 40;
  std::size_t allocated = 1;
  for (int times = 1; allocated != 0 && times <= most_times; ++times) {
    const std::size_t before = allocation_counter::on_this_thread();
    c.run(broadcast_many(g, rounds, 2 * triangle(7), good));
    allocated = allocation_counter::on_this_thread() - before;
    REQUIRE(good == times * rounds);
  }
  REQUIRE(allocated == 0);
}

TEST_CASE("a clean broadcast is two messages per edge, and nothing else", "[tcp]") {
  cluster c(world_kind::tcp_v4, 16);
  c.serve(total{});
  auto g = c.make_group<total>(0, knomial{4});
  const auto messages = [&] {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      const auto& s = c[i].wire().statistics();
      sum += s.requests_sent + s.replies_sent;
    }
    return sum;
  };
  int good = 0;
  const std::uint64_t before = messages();
  c.run(broadcast_many(g, 100, 2 * triangle(16), good));
  REQUIRE(good == 100);
  REQUIRE(messages() - before == 100 * 2 * 15);
}

TEST_CASE("requests of every size up to the limit cross every hop", "[tcp]") {
  cluster c(world_kind::tcp_v4, 6);
  c.serve(measure{});
  auto g = c.make_group<measure>(0, chain{});
  const auto check = [](group<measure> on) -> task<void> {
    for (std::size_t size = 0; size <= max_request_bytes - 4; size += 93) {
      measure::request r;
      r.bytes.resize(size, std::byte{7});
      auto answer = co_await bcast(on, r);
      REQUIRE(answer.ok());
      REQUIRE(answer->bytes.value == 6 * size);
    }
    measure::request r;
    r.bytes.resize(max_request_bytes - 4 + 1);
    auto answer = co_await bcast(on, r);
    REQUIRE(answer.status().error() == errc::too_large);
    REQUIRE(answer.outcome().count(member_state::not_reached) == 6);
  };
  c.run(check(g));
}

TEST_CASE("a merged reply that outgrows a message loses its subtree's values and no more", "[tcp]") {
  cluster c(world_kind::tcp_v4, 8);
  c.serve(listing{});
  auto g = c.make_group<listing>(0, knomial{2});
  const auto check = [](group<listing> on) -> task<void> {
    auto fits = co_await bcast(on, listing::request{1500});
    REQUIRE(fits.ok());
    REQUIRE(fits->parts.size() == 8);
    for (std::uint32_t i = 0; i < 8; ++i) {
      REQUIRE(fits->parts[i].rank == i);
      REQUIRE(fits->parts[i].value.size() == 1500);
    }
    // There are subtrees of 4, 2 and 1 members; the reply of the largest no longer fits 16 KiB.
    auto r = co_await bcast(on, listing::request{5000});
    REQUIRE(!r.ok());
    REQUIRE(r.has_value());
    REQUIRE(r->parts.size() == 4);
    REQUIRE(r.outcome().in(member_state::executed) == rank_set_of(4, 8));
    REQUIRE(r.outcome().executed() == rank_set_of(0, 8));
    REQUIRE(r.outcome().why(4).where == phase::reply);
    REQUIRE(r.outcome().why(4).what == errc::too_large);
  };
  c.run(check(g));
}

TEST_CASE("many broadcasts at once share the connections", "[tcp]") {
  cluster c(world_kind::tcp_v4, 9);
  c.serve(total{});
  std::vector<group<total>> groups;
  for (std::uint32_t root : {0U, 4U, 8U}) groups.push_back(c.make_group<total>(root, kary{2}));
  int good = 0;
  const auto all = [&]() -> task<void> {
    std::vector<task<void>> running;
    for (int i = 0; i < 60; ++i)
      running.push_back(broadcast_many(groups[static_cast<std::size_t>(i) % 3], 20, 2 * triangle(9), good));
    co_await when_all(std::move(running));
  };
  c.run(all());
  REQUIRE(good == 60 * 20);
}

TEST_CASE("a program that ends without shutdown is told what to do", "[tcp]") {
  const death d = die([] {
    const auto ring = transport::reactor::create().value();
    transport::tcp_rail rail(*ring);
    node_options options;
    options.id = 1;
    node self(*ring, rail, options);
    self.listen("127.0.0.1:0").value();
  });
  CHECK(d.aborted);
  CHECK(d.message.find("await node.shutdown(...)") != std::string::npos);
}

TEST_CASE("a membership of 50,000 entities reaches all members over TCP", "[tcp]") {
  constexpr std::uint64_t entities = 50'000;
  for (const populate when : {populate::immediate, populate::delayed}) {
    cluster c(world_kind::tcp_v4, 8);
    c.serve(survey{});
    std::vector<target> targets = c.targets();
    for (std::uint64_t e = 0; e < entities; ++e) targets[e % targets.size()].entities.push_back({e, ~e});
    group_options options;
    options.tree = knomial{2};
    options.populate = when;
    const auto g = c.run(c[3].create_group<survey>(targets, options)).value();
    for (int i = 0; i < 3; ++i) {
      const auto once = [&]() -> task<std::uint64_t> {
        auto r = co_await bcast(g, survey::request{}, {.deadline = 10s});
        co_return r.ok() ? r->value : 0;
      };
      CHECK(c.run(once()) == entities);
    }
    for (std::uint32_t i = 0; i < c.size(); ++i) CHECK(c[i].find_group<survey>(g.id()).has_value());
  }
}
