#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/transport/session/rails/rail_nodes.hpp"

// A node may list the addresses of a peer in another order than the peer has its rails, or cables may be crossed.

using namespace network;
using namespace std::chrono_literals;

namespace {

constexpr path_key misled_a{0, 0};
constexpr path_key misled_b{1, 1};

/// Nodes 1 and 2, of which the first one has the addresses of the second in the wrong order, and is the only one
/// that can connect.
struct misled_pair {
  explicit misled_pair(rails_world& on) : w(on), left(on, options_of(1)), right(on, options_of(2)) {
    const std::vector<std::string> swapped{w.address_on(2, 1), w.address_on(2, 0)};
    REQUIRE(left.ep->add_peer(2, swapped).has_value());
    right.knows(1);
    for (std::size_t here = 0; here < 2; ++here) {
      for (std::size_t there = 0; there < 2; ++there) w.net.refuse(w.place(2, here), w.place(1, there));
    }
  }
  void call_often(nanoseconds time) {
    for (const nanoseconds end = w.now() + time; w.now() < end; w.pass(1ms)) {
      call c;
      c.number = ++numbers;
      c.want_bytes = 8;
      message& m = compose(*left.ep, {c.number, 8, 1}, 8);
      REQUIRE(left.to(2).request(c, traffic_class::call, m, c.capacity).has_value());
      REQUIRE(w.until([&] { return c.ends == 1; }, 30s));
      CHECK(c.answered());
    }
  }

  rails_world& w;
  rail_node left;
  rail_node right;
  std::uint64_t numbers = 0;
};

}  // namespace

TEST_CASE("a path whose connections arrive at another rail is told to be crossed, once") {
  rails_world w(2);
  misled_pair p(w);
  p.call_often(2s);
  REQUIRE(p.left.in.crossed.size() == 2);
  const auto& [path, really] = p.left.in.crossed[0];
  CHECK(path == misled_a);
  CHECK(really == path_key{0, 1});
  CHECK(p.left.in.crossed[1].first == misled_b);
  for (const auto& each : p.left.to(2).paths()) {
    if (each.key() == misled_a) CHECK((each.crossed() && each.arrives_at() == 1));
  }
  // The other side counts the connections for the rails that they use.
  CHECK(p.right.to(1).connected_by(traffic_class::call, {1, 0}));
  CHECK(p.right.in.crossed.empty());
}

TEST_CASE("addresses in the order of the rails are not called crossed") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(1s);
  CHECK(p.left.in.crossed.empty());
  CHECK(p.right.in.crossed.empty());
}

TEST_CASE("a single address of a peer with several rails is not called crossed") {
  rails_world w(2);
  rail_node left(w, options_of(1));
  rail_node right(w, options_of(2));
  REQUIRE(left.ep->add_peer(2, std::vector<std::string>{w.address_on(2, 1)}).has_value());
  right.knows(1);
  call c;
  c.number = 1;
  c.want_bytes = 8;
  REQUIRE(
      left.to(2).request(c, traffic_class::call, compose(*left.ep, {1, 8, 1}, 8), c.capacity).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }, 30s));
  CHECK(c.answered());
  CHECK(left.in.crossed.empty());
}

TEST_CASE("the end of a crossed connection is told, and the peer ends the same one") {
  rails_world w(2);
  misled_pair p(w);
  p.call_often(500ms);
  REQUIRE(p.left.to(2).connected_by(traffic_class::call, misled_b));
  const auto ended_as_told = [&] {
    return p.left.counts().links_ended_as_told + p.right.counts().links_ended_as_told;
  };
  const std::uint64_t before = ended_as_told();
  // What goes by that rail is lost, so one of the two cuts the connection, and tells so by the other one.
  w.block(1, 1, w.now() + 1000s);
  p.call_often(12s);
  CHECK(ended_as_told() == before + 1);
  CHECK_FALSE(p.right.to(1).connected_by(traffic_class::call, {0, 1}));
  CHECK(p.left.in.losses.empty());
  CHECK(p.right.in.losses.empty());
}

TEST_CASE("connections that a misled node accepts are counted under the names by which it connects") {
  rails_world w(2);
  misled_pair p(w);
  p.call_often(2s);
  REQUIRE(p.left.in.crossed.size() == 2);
  for (std::size_t here = 0; here < 2; ++here) {
    for (std::size_t there = 0; there < 2; ++there) w.net.admit(w.place(2, here), w.place(1, there));
  }
  // Now the second node connects anew by its first rail, which the first one calls the second.
  w.cut(2, 0);
  REQUIRE(w.until([&] {
    p.call_often(10ms);
    return p.left.to(2).connected_by(traffic_class::call, {0, 1});
  }));
  CHECK_FALSE(p.left.to(2).connected_by(traffic_class::call, {1, 0}));
  CHECK(p.left.in.losses.empty());
}
