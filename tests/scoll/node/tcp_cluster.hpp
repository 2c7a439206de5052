#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll::test {

/// N nodes, ids 1 to N, on one real reactor, talking over real TCP connections on loopback.
class tcp_cluster {
 public:
  explicit tcp_cluster(std::uint32_t size, const std::string& listen = "127.0.0.1:0",
                       node_options base = {}) {
    transport::reactor_options options;
    options.announce = false;
    ring = transport::reactor::create(options).value();
    for (std::uint32_t i = 0; i < size; ++i) {
      base.id = i + 1;
      base.cluster = "test";
      base.incarnation = 1;
      rails_.push_back(std::make_unique<transport::tcp_rail>(*ring));
      nodes_.push_back(std::make_unique<node>(*ring, *rails_[i], base));
      nodes_[i]->listen(listen).value();
    }
    for (auto& from : nodes_) {
      for (auto& to : nodes_) {
        if (from != to) from->add_peer(to->id(), to->listen_address()).value();
      }
    }
  }
  ~tcp_cluster() {
    for (auto& n : nodes_) run(n->shutdown(std::chrono::seconds(4))).ignore();
    nodes_.clear();
    for (auto& r : rails_) {
      while (r->open() != 0) ring->run_once(std::chrono::milliseconds(10));
    }
  }

  node& operator[](std::uint32_t i) { return *nodes_[i]; }
  std::uint32_t size() const { return static_cast<std::uint32_t>(nodes_.size()); }

  std::vector<target> targets() const {
    std::vector<target> all;
    for (std::uint32_t i = 0; i < size(); ++i) all.push_back({i + 1, {}});
    return all;
  }
  template <class S>
  void serve(const S& service) {
    for (auto& n : nodes_) n->serve(service).value();
  }
  template <class S>
  group<S> make_group(std::uint32_t root, tree_spec tree) {
    group_options options;
    options.tree = tree;
    return run(nodes_[root]->template create_group<S>(targets(), options)).value();
  }
  template <class T>
  T run(task<T> work) {
    return sync_wait(*ring, std::move(work));
  }

  std::unique_ptr<transport::reactor> ring;

 private:
  std::vector<std::unique_ptr<transport::tcp_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
};

}  // namespace scoll::test
