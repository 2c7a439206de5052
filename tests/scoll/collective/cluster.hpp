#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_access.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::test {

/// N nodes, ids 1 to N, in one process and in virtual time, each with its own rail on one simulated network.
class cluster {
 public:
  explicit cluster(std::uint32_t size, const node_options& base = {},
                   nanoseconds latency = std::chrono::microseconds(10))
      : network(ex.world(), testing::sim_network::usual_chunk_bytes, size + outsiders) {
    network.common_path().model = testing::sim_link_model::ideal(latency);
    for (std::uint32_t i = 0; i < size; ++i)
      rails_.push_back(std::make_unique<testing::sim_rail>(network, ex, i));
    for (std::uint32_t i = 0; i < size; ++i) start(i, base, 1);
  }
  ~cluster() {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) stop(i).ignore();
    nodes_.clear();
    ex.run_until_idle();
  }

  static std::string address(std::uint32_t i) { return testing::sim_network::address_of(i); }

  node& operator[](std::uint32_t i) { return *nodes_[i]; }
  detail::engine& engine(std::uint32_t i) { return scoll::detail::node_access::engine(*nodes_[i]); }
  std::uint32_t size() const { return static_cast<std::uint32_t>(rails_.size()); }
  bool alive(std::uint32_t i) const { return nodes_[i] != nullptr; }

  template <class S>
  std::vector<service_handle> serve(const S& service) {
    std::vector<service_handle> handles;
    for (auto& n : nodes_) handles.push_back(n->serve(service).value());
    return handles;
  }

  std::vector<target> targets() const {
    std::vector<target> all;
    for (std::uint32_t i = 0; i < size(); ++i) all.push_back({i + 1, {}});
    return all;
  }

  template <class S>
  group<S> make_group(std::uint32_t root, tree_spec tree) {
    return try_group<S>(root, tree).value();
  }
  template <class S>
  result<group<S>> try_group(std::uint32_t root, tree_spec tree,
                             nanoseconds deadline = std::chrono::seconds(10)) {
    group_options options;
    options.tree = tree;
    options.deadline = deadline;
    return run(nodes_[root]->template create_group<S>(targets(), options));
  }

  template <class T>
  T run(task<T> work) {
    return sync_wait(ex, std::move(work));
  }

  template <class S>
  auto bcast(const group<S>& g, const detail::request_t<S>& request, bcast_options options = {}) {
    return run(await_bcast(g, request, options));
  }

  /// Acts like SIGKILL: the node sends nothing more, and its links break.
  void kill(std::uint32_t i) {
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j == i) continue;
      network.cut(i, j);
      network.refuse(j, i);
      network.refuse(i, j);
    }
  }
  /// Undoes the effects of `kill` on the links.
  void revive(std::uint32_t i) {
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j == i) continue;
      network.admit(j, i);
      network.admit(i, j);
    }
  }

  /// True if no node has an operation or a message left, a while after everything has ended.
  bool quiet() {
    ex.run_for(std::chrono::milliseconds(200));
    for (auto& n : nodes_) {
      if (n == nullptr) continue;
      if (scoll::detail::node_access::engine(*n).operations() != 0 || n->wire().messages_in_use() != 0)
        return false;
    }
    return true;
  }

  status stop(std::uint32_t i, nanoseconds limit = std::chrono::seconds(4)) {
    if (nodes_[i] == nullptr) return {};
    status ended = run(nodes_[i]->shutdown(limit));
    nodes_[i].reset();
    return ended;
  }

  /// Puts a new process in the place of an old one.
  void reboot(std::uint32_t i, std::uint64_t incarnation, node_options options = {}) {
    stop(i, std::chrono::milliseconds(20)).ignore();
    start(i, std::move(options), incarnation);
  }

  void start(std::uint32_t i, node_options options, std::uint64_t incarnation) {
    options.id = i + 1;
    options.cluster = "test";
    options.incarnation = incarnation;
    if (nodes_.size() < size()) nodes_.resize(size());
    nodes_[i] = std::make_unique<node>(ex, *rails_[i], options);
    nodes_[i]->listen(address(i)).value();
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j != i) nodes_[i]->add_peer(j + 1, address(j)).value();
    }
  }

  static constexpr std::uint32_t outsiders = 1;  ///< hosts of the network after those of the nodes

  testing::virtual_executor ex;
  testing::sim_network network;

 private:
  template <class S>
  static task<bcast_result<detail::reply_t<S>>> await_bcast(const group<S>& g,
                                                            const detail::request_t<S>& request,
                                                            bcast_options options) {
    auto r = co_await scoll::bcast(g, request, options);
    co_return r;
  }

  std::vector<std::unique_ptr<testing::sim_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
};

/// A broadcast that has been started and runs while the test continues.
template <class S>
class flight {
 public:
  using result_type = bcast_result<detail::reply_t<S>>;

  flight(cluster& c, const group<S>& g, const detail::request_t<S>& request, bcast_options options = {})
      : cluster_(c), scope_(c.ex), started_(c.ex.now()) {
    scope_.spawn(go(g, request, options));
    c.ex.run_now();
  }
  ~flight() { land(); }
  flight(const flight&) = delete;
  flight& operator=(const flight&) = delete;

  bool done() const { return result_.has_value(); }
  /// Waits until the broadcast has ended.
  result_type& land() {
    if (!joined_) cluster_.run(join());
    joined_ = true;
    return *result_;
  }
  /// Returns how long the broadcast took.
  nanoseconds took() const { return ended_ - started_; }

 private:
  task<void> go(group<S> g, detail::request_t<S> request, bcast_options options) {
    auto r = co_await scoll::bcast(g, request, options);
    result_.emplace(std::move(r));
    ended_ = cluster_.ex.now();
  }
  task<void> join() { co_await scope_.join(); }

  cluster& cluster_;
  scope scope_;
  std::optional<result_type> result_;
  bool joined_ = false;
  time_point started_;
  time_point ended_{};
};

}  // namespace scoll::test
