#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"

namespace scoll {

/// A whole cluster in one process: nodes 1 to `size` on one reactor, connected by real TCP over loopback on
/// free ports. It is for first steps and for tests of services; servers have one node per process. The
/// constructor throws `failure` if something cannot be set up. Use and destroy the cluster on the thread that
/// made it.
class local_cluster {
 public:
  /// `base` holds the options that all nodes share; id, cluster and incarnation are filled in.
  explicit local_cluster(std::uint32_t size, node_options base = {}) : loop_(make_loop()) {
    base.cluster = "local";
    base.incarnation = 1;
    for (base.id = 1; base.id <= size; ++base.id) {
      rails_.push_back(std::make_unique<transport::tcp_rail>(*loop_));
      nodes_.push_back(std::make_unique<node>(*loop_, *rails_.back(), base));
      nodes_.back()->listen("127.0.0.1:0").value();
      targets_.push_back({base.id, {}});
    }
    for (auto& from : nodes_) {
      for (auto& to : nodes_) {
        if (from != to) from->add_peer(to->id(), to->listen_address()).value();
      }
    }
  }
  /// Shuts down all nodes, each within two seconds.
  ~local_cluster() {
    for (auto& n : nodes_) run(n->shutdown(std::chrono::seconds(2))).ignore();
    nodes_.clear();
    for (auto& rail : rails_) {
      while (rail->open() != 0) loop_->run_once(std::chrono::milliseconds(10));
    }
  }
  local_cluster(const local_cluster&) = delete;
  local_cluster& operator=(const local_cluster&) = delete;

  /// The node of rank `i` in `targets()`; its id is i + 1.
  node& operator[](std::uint32_t i) noexcept { return *nodes_[i]; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }
  const std::vector<target>& targets() const noexcept { return targets_; }
  transport::reactor& loop() noexcept { return *loop_; }

  /// Registers a copy of the service on every node.
  template <collective_service S>
  void serve(const S& service) {
    for (auto& n : nodes_) n->serve(service).value();
  }
  /// Runs the whole cluster until `work` has ended, and returns its value or throws its exception.
  template <class T>
  T run(task<T> work) {
    return sync_wait(*loop_, std::move(work));
  }

 private:
  static std::unique_ptr<transport::reactor> make_loop() { return transport::reactor::create().value(); }

  std::unique_ptr<transport::reactor> loop_;
  std::vector<std::unique_ptr<transport::tcp_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::vector<target> targets_;
};

}  // namespace scoll
