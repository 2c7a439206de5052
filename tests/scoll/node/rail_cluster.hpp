#pragma once

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_rails.hpp"
#include "tests/support/world.hpp"
#include "transport/io/address.hpp"

namespace scoll::test {

/// Nodes with ids 1 to `count` in one process, with two rails each: rail `a` of node n is 127.20.0.n, and
/// rail `b` is 127.21.0.n.
class rail_cluster final {
 public:
  static constexpr std::size_t rails = 2;

  explicit rail_cluster(std::uint32_t count, const node_options& base = {}) : nodes_(count) {
    for (node_id id = 1; id <= count; ++id) nodes_[id - 1].open(world_.loop(), id, base);
    for (member& each : nodes_) introduce(each);
  }
  ~rail_cluster() {
    for (member& each : nodes_) run(each.node->shutdown(std::chrono::seconds(4))).ignore();
    for (member& each : nodes_) each.node.reset();
    world_.until([this] { return open() == 0; });
  }
  rail_cluster(const rail_cluster&) = delete;
  rail_cluster& operator=(const rail_cluster&) = delete;

  node& operator[](node_id id) { return *nodes_[id - 1].node; }
  transport::reactor& loop() { return world_.loop(); }
  tcp_world& surroundings() { return world_; }
  std::vector<target> targets() const {
    std::vector<target> all;
    for (node_id id = 1; id <= nodes_.size(); ++id) all.push_back({id, {}});
    return all;
  }

  /// One node gets the addresses of another one in the wrong order.
  void cross(node_id one, node_id other) {
    std::vector<std::string> addresses = nodes_[other - 1].tcp->listen_addresses();
    std::ranges::reverse(addresses);
    nodes_[one - 1].node->add_peer(other, addresses).value();
  }
  template <class T>
  T run(task<T> work) {
    return sync_wait(world_.loop(), std::move(work));
  }
  /// Runs `work`, and kills the connections of one rail after the other, at most every `pause`, while all
  /// nodes are connected by both. Returns the result.
  template <class T>
  T run_while_killing(task<T> work, nanoseconds pause) {
    detail::root_task<T> root(world_.loop(), std::move(work));
    while (!root.done()) {
      world_.until([&] { return root.done(); }, pause);
      if (!root.done() && connected()) kills += kill(kills % rails) == 0 ? 0U : 1U;
    }
    return root.take();
  }

  /// Shuts all connections of a rail down. Returns the number of ends.
  static int kill(std::size_t rail) {
    const std::string network = "127." + std::to_string(20 + rail) + ".";
    int ends = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      const int fd = std::stoi(entry.path().filename());
      const auto far = transport::peer_address(fd);
      if (!far || !far->to_string().starts_with(network)) continue;
      ::shutdown(fd, SHUT_RDWR);
      ++ends;
    }
    return ends;
  }

  std::size_t kills = 0;

 private:
  struct member {
    void open(transport::reactor& loop, node_id number, node_options options) {
      id = number;
      const std::string host = ".0." + std::to_string(id) + ":0/24";
      const auto use = parse_rails("a=tcp://127.20" + host + ", b=tcp://127.21" + host);
      tcp = std::make_unique<node_rails>(loop, use.rails);
      options.id = id;
      options.cluster = "rails";
      node = std::make_unique<scoll::node>(loop, tcp->set(), options);
      node->listen().value();
    }
    bool reaches(node_id other, std::uint8_t rail) const {
      return node->wire().find(other)->connected_by(transport::traffic_class::call, {rail, rail});
    }

    node_id id = 0;
    std::unique_ptr<node_rails> tcp;
    std::unique_ptr<scoll::node> node;
  };

  bool connected() const {
    for (const member& from : nodes_) {
      for (const member& to : nodes_) {
        if (&from != &to && from.reaches(to.id, 0) != from.reaches(to.id, 1)) return false;
      }
    }
    return true;
  }
  void introduce(member& to) {
    for (member& each : nodes_) {
      if (&each == &to) continue;
      to.node->add_peer(each.id, each.tcp->listen_addresses()).value();
    }
  }
  std::size_t open() const {
    std::size_t sum = 0;
    for (const member& each : nodes_) sum += each.tcp->open();
    return sum;
  }

  tcp_world world_{tcp_world::family::v4};
  std::vector<member> nodes_;
};

}  // namespace scoll::test
