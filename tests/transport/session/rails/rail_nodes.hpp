#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/transport/session/call.hpp"

/// Nodes with several rails on a simulated network.
namespace network {

/// A simulated network in which every node has an address for each of its rails.
class rails_world final : public virtual_world {
 public:
  static constexpr std::uint32_t nodes = 8;

  explicit rails_world(std::size_t count, std::size_t chunk_bytes = sim_network::usual_chunk_bytes)
      : rails(count), net(clock.world(), chunk_bytes, nodes * 8) {
    net.common_path().model = sim_link_model::ideal(10us);
  }

  std::size_t rails;
  std::set<std::size_t> for_bulk;  // the rails that nodes prefer for bulk data
  sim_network net;

  static std::uint32_t place(node_id node, std::size_t rail) {
    return static_cast<std::uint32_t>(rail * nodes + node);
  }
  std::string address_on(node_id node, std::size_t rail) const {
    return sim_network::address_of(place(node, rail));
  }
  std::unique_ptr<rail> make_rail_of(node_id node, std::size_t rail) {
    return std::make_unique<sim_rail>(net, clock, place(node, rail));
  }
  std::unique_ptr<rail> make_rail(node_id node) override { return make_rail_of(node, 0); }
  std::string address(node_id node) const override { return address_on(node, 0); }

  /// Calls `fault(from, to)` for all pairs of addresses, both ways, between two nodes by rail `a` of the one.
  template <class Fault>
  void each_path(node_id one, std::size_t rail, node_id other, Fault&& fault) {
    for (std::size_t theirs = 0; theirs < rails; ++theirs) fault(place(one, rail), place(other, theirs));
  }
  /// Nothing leaves or reaches a rail of a node until `until` (of the world's time).
  void block(node_id node, std::size_t rail, nanoseconds until, bool out = true, bool in = true) {
    for (node_id other = 1; other < nodes; ++other) {
      if (other == node) continue;
      each_path(node, rail, other, [&](std::uint32_t here, std::uint32_t there) {
        if (out) net.path(here, there).blocked_until = until;
        if (in) net.path(there, here).blocked_until = until;
      });
    }
  }
  /// Resets all connections of a rail of a node.
  void cut(node_id node, std::size_t rail) {
    for (node_id other = 1; other < nodes; ++other) {
      if (other == node) continue;
      each_path(node, rail, other, [&](std::uint32_t here, std::uint32_t there) { net.cut(here, there); });
    }
  }
  void refuse(node_id node, std::size_t rail, bool on) {
    for (node_id other = 1; other < nodes; ++other) {
      if (other == node) continue;
      each_path(node, rail, other, [&](std::uint32_t here, std::uint32_t there) {
        on ? net.refuse(here, there) : net.admit(here, there);
        on ? net.refuse(there, here) : net.admit(there, here);
      });
    }
  }
  /// Refuses connections from a rail of one node to another rail of the other one: the networks are not joined.
  void refuse_crossed(node_id one, node_id other) {
    for (std::size_t here = 0; here < rails; ++here) {
      for (std::size_t there = 0; there < rails; ++there) {
        if (here == there) continue;
        net.refuse(place(one, here), place(other, there));
        net.refuse(place(other, there), place(one, here));
      }
    }
  }
  nanoseconds now() { return clock.world().now(); }
};

/// A simulated rail that counts the connections that were tried, and lets some of them hang.
class counted_rail final : public rail {
 public:
  explicit counted_rail(std::unique_ptr<rail> behind) : behind_(std::move(behind)) {}
  std::uint64_t attempts = 0;
  std::size_t to_hang = 0;  // so many attempts from now on come to no end

  status listen(const std::string& address, accept_events& events) noexcept override {
    return behind_->listen(address, events);
  }
  std::string listen_address() const override { return behind_->listen_address(); }
  void stop_listening() noexcept override { behind_->stop_listening(); }
  void connect(const std::string& address, connect_events& waiter) noexcept override {
    ++attempts;
    if (to_hang == 0) return behind_->connect(address, waiter);
    --to_hang;
    hanging_.insert(&waiter);
  }
  void cancel_connect(connect_events& waiter) noexcept override {
    if (hanging_.erase(&waiter) == 0) behind_->cancel_connect(waiter);
  }
  std::size_t open() const noexcept override { return behind_->open(); }
  task<void> all_closed() override { return behind_->all_closed(); }

 private:
  std::unique_ptr<rail> behind_;
  std::set<connect_events*> hanging_;
};

/// A node with several rails.
class rail_node final {
 public:
  rail_node(rails_world& w, const endpoint_options& o) : id(o.self), world_(w) {
    for (std::size_t i = 0; i < w.rails; ++i) {
      rails_.push_back(std::make_unique<counted_rail>(w.make_rail_of(id, i)));
      set_.add(std::string(1, static_cast<char>('a' + i)), *rails_.back(),
               {.listen = w.address_on(id, i), .bulk = w.for_bulk.contains(i)})
          .value();
    }
    ep = std::make_unique<endpoint>(w.ex(), set_, o, in);
    in.owner = ep.get();
    ep->route(traffic_class::bulk, in);
    const auto listening = ep->listen("");
    if (!listening) FAIL(describe(listening.error()));
  }
  ~rail_node() { stop(); }
  rail_node(const rail_node&) = delete;
  rail_node& operator=(const rail_node&) = delete;

  void stop() {
    if (!ep) return;
    ep.reset();
    CHECK(world_.until([this] { return open() == 0; }, 60s));
  }
  std::size_t open() const {
    std::size_t sum = 0;
    for (const auto& r : rails_) sum += r->open();
    return sum;
  }
  std::size_t open(std::size_t rail) const { return rails_[rail]->open(); }
  /// The connections that were tried by a rail.
  std::uint64_t attempts(std::size_t rail) const { return rails_[rail]->attempts; }
  /// So many attempts by each rail, from now on, come to no end.
  void let_hang(std::size_t attempts) {
    for (const auto& r : rails_) r->to_hang = attempts;
  }
  void knows(node_id other) {
    std::vector<std::string> addresses;
    for (std::size_t i = 0; i < world_.rails; ++i) addresses.push_back(world_.address_on(other, i));
    REQUIRE(ep->add_peer(other, addresses).has_value());
  }
  session& to(node_id other) { return *ep->find(other); }
  const endpoint_statistics& counts() const { return ep->statistics(); }

  node_id id;
  service in;

 private:
  rails_world& world_;
  std::vector<std::unique_ptr<counted_rail>> rails_;
  rail_set set_;

 public:
  std::unique_ptr<endpoint> ep;
};

/// Nodes 1 and 2, which know each other by all their rails.
struct rail_pair {
  explicit rail_pair(rails_world& on) : w(on), left(on, options_of(1)), right(on, options_of(2)) {
    left.knows(2);
    right.knows(1);
  }
  rail_node& node(node_id id) { return id == 1 ? left : right; }
  /// A call of each node to the other is answered. Returns the longest time.
  nanoseconds exchange_calls(traffic_class klass = traffic_class::call) {
    call there;
    call back;
    const nanoseconds began = w.now();
    REQUIRE(start(there, left, 2, klass).has_value());
    REQUIRE(start(back, right, 1, klass).has_value());
    REQUIRE(w.until([&] { return there.ends == 1 && back.ends == 1; }, 30s));
    CHECK(there.answered());
    CHECK(back.answered());
    return w.now() - began;
  }
  status start(call& c, rail_node& from, node_id to, traffic_class klass = traffic_class::call,
               std::size_t bytes = 8) {
    c.number = ++numbers;
    c.want_bytes = 8;
    c.ends = 0;
    message& m = compose(*from.ep, {c.number, 8, 1}, bytes);
    return from.to(to).request(c, klass, m, c.capacity);
  }
  /// Calls both ways without a pause for a time. All must be answered, once. Returns the longest one.
  nanoseconds traffic(nanoseconds time, traffic_class klass = traffic_class::call) {
    nanoseconds longest{0};
    const nanoseconds end = w.now() + time;
    while (w.now() < end) {
      longest = std::max(longest, exchange_calls(klass));
      w.pass(1ms);
    }
    return longest;
  }
  void check_clean() {
    for (rail_node* n : {&left, &right}) {
      for (const auto& [number, times] : n->in.seen) CHECK(times == 1);
      INFO("node " << n->id << (n->in.losses.empty() ? "" : ": " + describe(n->in.losses[0])));
      CHECK(n->in.losses.empty());
      CHECK(n->in.damaged == 0);
      CHECK(n->counts().sessions_lost == 0);
      CHECK(n->counts().links_broken == 0);
    }
  }
  path_key path(node_id from, traffic_class klass = traffic_class::call) {
    return node(from).to(3 - from).path_of(klass);
  }
  const scoll::transport::path& health(node_id from, path_key key) {
    for (const auto& p : node(from).to(3 - from).paths()) {
      if (p.key() == key) return p;
    }
    FAIL("no such path");
    std::abort();
  }

  rails_world& w;
  rail_node left;
  rail_node right;
  std::uint64_t numbers = 0;
};

}  // namespace network
