#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "tests/catch.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::test {

/// Nodes 1 to `size` in virtual time, each on a host of its own, whose processor is busy while it sends and receives.
/// `network` may be given its wires before `boot`.
class timed_nodes {
 public:
  /// Without `clocks`, all hosts have the same one.
  timed_nodes(std::uint64_t seed, std::uint32_t size, std::size_t chunk_bytes,
              std::vector<testing::sim_clock> clocks = {})
      : world(seed, size, false), network(world, chunk_bytes), clocks_(std::move(clocks)), size_(size) {
    clocks_.resize(size);
  }
  ~timed_nodes() {
    for (station& s : stations_) run(s, s.self->shutdown(std::chrono::seconds(2))).ignore();
    for (station& s : stations_) s.home.enter([&] { s.self.reset(); });
  }
  timed_nodes(const timed_nodes&) = delete;
  timed_nodes& operator=(const timed_nodes&) = delete;

  /// Makes the nodes, which know each other. `serve` is called for each.
  template <class Serve>
  void boot(Serve serve) {
    for (std::uint32_t i = 0; i < size_; ++i) {
      station& s = stations_.emplace_back(world, network, i, clocks_[i]);
      s.home.enter([&] {
        node_options options;
        options.id = i + 1;
        options.cluster = "test";
        options.incarnation = 1;
        s.self = std::make_unique<node>(s.home, s.rail, options);
        s.self->listen(s.rail.listen_address()).value();
        for (std::uint32_t j = 0; j < size_; ++j) {
          if (j != i) s.self->add_peer(j + 1, testing::sim_network::address_of(j)).value();
        }
        serve(*s.self, i);
      });
    }
  }

  node& operator[](std::uint32_t i) { return *stations_[i].self; }
  /// Runs the world until a task of the first node has ended.
  template <class T>
  T run(task<T> work) {
    return run(stations_[0], std::move(work));
  }

  testing::sim_world world;
  testing::sim_network network;

 private:
  struct station {
    station(testing::sim_world& world, testing::sim_network& network, std::uint32_t host,
            testing::sim_clock clock)
        : home(world, host, clock), rail(network, home) {}
    testing::sim_executor home;
    testing::sim_rail rail;
    std::unique_ptr<node> self;
  };

  template <class T>
  T run(station& at, task<T> work) {
    scoll::detail::root_task<T> started(at.home, std::move(work));
    at.home.touch();
    const nanoseconds limit = world.now() + std::chrono::seconds(60);
    while (!started.done()) REQUIRE(world.step(limit));
    return started.take();
  }

  std::vector<testing::sim_clock> clocks_;
  std::uint32_t size_;
  std::deque<station> stations_;
};

}  // namespace scoll::test
