#include <deque>
#include <optional>

#include "tests/support/build.hpp"
#include "tests/transport/session/rails/bulk_paths.hpp"
#include "tests/transport/session/split_world.hpp"

// Two transports by name, one for messages and one that bulk prefers: what becomes of bulk data when the
// preferred one is dead, and when it is back.
using namespace transfers;

namespace {

class preferring_world final : public split_world {
 public:
  preferring_world() : split_world(sim_network::usual_chunk_bytes, bulk_use::preferred) {}
};

status begin(call& c, endpoint& from, node_id to) {
  c.number = to;
  c.want_bytes = 8;
  return from.find(to)->request(c, traffic_class::call, compose(from, {c.number, 8, 1}, 8), c.capacity);
}

}  // namespace

TEST_CASE("bulk goes by its own transport, and messages by theirs") {
  preferring_world w;
  two p(w);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  std::uint64_t fast_bytes = 0;
  w.fast.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte> bytes) {
    fast_bytes += bytes.size();
    return true;
  });
  REQUIRE(bulk_goes_by(p, region.descriptor(), by_fast, 2s));
  CHECK(fast_bytes >= mebibyte);
  CHECK(p.left->to(2).path_of(traffic_class::call) == by_net);
  CHECK(p.left->to(2).address() == w.address(2));
  CHECK(p.left->to(2).address_on(1) == "fast://host:2");
  check_nothing_was_lost(p);
}

TEST_CASE("bulk data go by the transport of the messages when their own dies in the middle, and return") {
  const bool silent = GENERATE(false, true);
  const std::uint32_t segment = GENERATE(4096U, 32768U);
  for (int cut_at = 0; cut_at < 90; cut_at += scoll::test::slow_build ? 30 : 6) {
    INFO("segments of " << segment << ", " << (silent ? "silent" : "cut") << " at " << cut_at);
    preferring_world w;
    two p(w, [segment](endpoint_options& o) { o.transfer_segment_bytes = segment; });
    fenced readable(made(mebibyte, 1));
    fenced writable(made(mebibyte, 2));
    const auto from = p.exposed(readable.memory());
    const auto to = p.exposed(writable.memory());
    REQUIRE(bulk_goes_by(p, from.descriptor(), by_fast, 2s));

    int arrived = 0;
    std::optional<time_point> broken;
    w.fast.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte>) {
      if (arrived++ != cut_at) return true;
      broken = w.clock.now();
      silent ? split_world::block(w.fast, std::chrono::hours(1)) : split_world::sever(w.fast);
      return false;
    });
    fenced into(mebibyte);
    const auto pulled = p.begin_pull(from.descriptor(), 0, into.memory());
    const auto pushed = p.begin_push(to.descriptor(), 0, readable.memory());
    REQUIRE(w.until([&] { return broken.has_value(); }));
    w.fast.set_tamper({});
    REQUIRE(w.until([&] { return pulled.done() && pushed.done(); }));
    CHECK(w.clock.now() - *broken <= (silent ? 500ms : 100ms));
    CHECK(pulled->has_value());
    CHECK(pushed->has_value());
    CHECK(into.holds(readable.memory()));
    CHECK(writable.holds(readable.memory()));
    CHECK(bulk_path(p) == by_net);
    calls_go_on(p, 5);
    CHECK(p.left->to(2).path_of(traffic_class::call) == by_net);

    silent ? split_world::block(w.fast, 0ns) : split_world::mend(w.fast);
    CHECK(bulk_goes_by(p, from.descriptor(), by_fast, 15s));
    check_nothing_was_lost(p);
    REQUIRE(p.quiet());
  }
}

TEST_CASE("a transport for bulk that is dead from the start costs no caller an error") {
  preferring_world w;
  const bool silent = GENERATE(false, true);
  silent ? split_world::block(w.fast, std::chrono::hours(1)) : split_world::sever(w.fast);
  two p(w);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  const time_point began = w.clock.now();
  fenced into(mebibyte);
  REQUIRE(p.pull(region.descriptor(), 0, into.memory()).has_value());
  CHECK(w.clock.now() - began <= 500ms);
  CHECK(into.holds(store.memory()));
  CHECK(bulk_path(p) == by_net);
  calls_go_on(p, 20);
  check_nothing_was_lost(p);
}

TEST_CASE("bulk is lost alone when no transport is left for it") {
  preferring_world w;
  two p(w);
  fenced store(made(mebibyte, 1));
  const auto region = p.exposed(store.memory());
  REQUIRE(bulk_goes_by(p, region.descriptor(), by_fast, 2s));
  // The connection for messages stands, and no other one can be made.
  w.net.refuse(1, 2);
  w.net.refuse(2, 1);
  split_world::sever(w.fast);
  const time_point gone = w.clock.now();
  fenced into(mebibyte);
  const status pulled = p.pull(region.descriptor(), 0, into.memory());
  REQUIRE_FALSE(pulled.has_value());
  CHECK((pulled.error() == errc::connection_lost || pulled.error() == errc::unreachable));
  CHECK(w.clock.now() - gone >= 1s);
  CHECK(w.clock.now() - gone <= 1100ms);
  CHECK(p.left->ep->statistics().bulk_lost == 1);
  calls_go_on(p, 10);
  for (const node* n : {p.left.get(), p.right.get()}) CHECK(n->ep->statistics().sessions_lost == 0);
  split_world::mend(w.fast);
  split_world::mend(w.net);
  REQUIRE(p.pull(region.descriptor(), 0, into.memory()).has_value());
  CHECK(into.holds(store.memory()));
}

TEST_CASE("messages go by the transport for bulk when their own is dead") {
  preferring_world w;
  two p(w);
  calls_go_on(p, 3);
  split_world::sever(w.net);
  calls_go_on(p, 10);
  CHECK(p.left->to(2).path_of(traffic_class::call) == by_fast);
  check_nothing_was_lost(p);
}

TEST_CASE("peers number the transports of a node as its address does, in whatever order they were added") {
  virtual_executor clock;
  sim_network net(clock.world(), 4096, 4);
  sim_network fast(clock.world(), 4096, 4);
  sim_rail net_of_one(net, clock, 1), fast_of_one(fast, clock, 1);
  sim_rail net_of_two(net, clock, 2), fast_of_two(fast, clock, 2);
  named_rails one, two;
  REQUIRE(one.add("fast", fast_of_one).has_value());
  REQUIRE(one.add("net", net_of_one).has_value());
  REQUIRE(two.add("net", net_of_two).has_value());
  REQUIRE(two.add("fast", fast_of_two).has_value());
  service in_one, in_two;
  std::optional<endpoint> left(std::in_place, clock, one, options_of(1), in_one);
  std::optional<endpoint> right(std::in_place, clock, two, options_of(2), in_two);
  in_one.owner = &*left;
  in_two.owner = &*right;
  const bool known_before = GENERATE(true, false);
  const std::string at_one = "net://host:1;bulk=fast://host:1";
  const std::string at_two = "net://host:2;bulk=fast://host:2";
  if (known_before) REQUIRE(left->add_peer(2, at_two).has_value());
  REQUIRE(left->listen(at_one).has_value());
  REQUIRE(right->listen(at_two).has_value());
  if (!known_before) REQUIRE(left->add_peer(2, at_two).has_value());
  REQUIRE(right->add_peer(1, at_one).has_value());
  CHECK(left->listen_address() == at_one);
  CHECK(left->name_of_rail(0) == "net");
  CHECK(left->address_of_rail(1) == "fast://host:1");

  call there, back;
  REQUIRE(begin(there, *left, 2).has_value());
  REQUIRE(begin(back, *right, 1).has_value());
  clock.run_for(1s);
  CHECK(there.answered());
  CHECK(back.answered());
  for (endpoint* const each : {&*left, &*right}) {
    session& peer = *each->find(each == &*left ? 2 : 1);
    CHECK(peer.path_of(traffic_class::call) == by_net);
    CHECK(peer.connected_by(traffic_class::call, by_fast));
    CHECK(peer.paths().size() == 2);
  }
  // One connection by each transport, not one by each side.
  CHECK(one.open() == 2);
  CHECK(two.open() == 2);

  const auto late = left->listen("fast://host:1;bulk=net://host:1");
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error() == errc::invalid_argument);
  CHECK_THAT(std::string(late.error().text()), Catch::Contains("listen before the first message"));
  left.reset();
  right.reset();
  clock.run_for(1s);
  CHECK(one.open() + two.open() == 0);
}
