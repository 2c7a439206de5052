#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scoll/collective/engine.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/node_access.hpp"
#include "tests/support/world.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::test {

/// N nodes, ids 1 to N, in one process, each with its own rail in one world. Node i of the cluster has id i + 1.
class cluster {
 public:
  /// `latency` is that of the wires in virtual time.
  cluster(world_kind kind, std::uint32_t size, const node_options& base = {},
          nanoseconds latency = std::chrono::microseconds(10))
      : cluster(make_world(kind, size + outsiders, 1, latency), size, base) {}
  ~cluster() {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) stop(i).ignore();
    nodes_.clear();
    surroundings_->run_out();
    for (auto& r : rails_) surroundings_->until([&] { return r->open() == 0; });
  }
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  /// The address of a node that listens.
  const std::string& address(std::uint32_t i) const { return addresses_[i]; }

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
    scoll::detail::root_task<T> root(get_executor(), std::move(work));
    while (!root.done()) surroundings_->run_once(std::chrono::hours(1));
    return root.take();
  }

  template <class S>
  auto bcast(const group<S>& g, const detail::request_t<S>& request, bcast_options options = {}) {
    return run(await_bcast(g, request, options));
  }

  world& surroundings() { return *surroundings_; }
  time_point now() const { return surroundings_->ex().now(); }
  executor& get_executor() { return surroundings_->ex(); }
  void pass(nanoseconds d) { surroundings_->pass(d); }
  void run_once(nanoseconds longest) { surroundings_->run_once(longest); }
  void run_ready() { surroundings_->run_ready(); }
  bool until(const std::function<bool()>& done) { return surroundings_->until(done); }
  bool is_virtual() const { return surroundings_->is_virtual(); }

  /// Two nodes lose their links, and get no new ones until `join`.
  void part(std::uint32_t a, std::uint32_t b) { surroundings_->part(a + 1, b + 1); }
  void join(std::uint32_t a, std::uint32_t b) { surroundings_->join(a + 1, b + 1); }
  /// Acts like SIGKILL: the node sends nothing more, and its links break.
  void kill(std::uint32_t i) {
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j != i) part(i, j);
    }
  }
  /// Undoes the effects of `kill` on the links.
  void revive(std::uint32_t i) {
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j != i) join(i, j);
    }
  }
  void freeze(std::uint32_t i) { surroundings_->freeze(i + 1); }
  void thaw(std::uint32_t i) { surroundings_->thaw(i + 1); }

  /// True if no node has an operation or a message left, a while after everything has ended. A message of the nodes'
  /// own may be on its way just then.
  bool quiet() {
    if (is_virtual()) pass(surroundings_->settling_time());
    return until([this] { return holds_nothing(); });
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

  /// True once every other node has heard that the node's earlier life has left.
  bool knows_it_has_left(std::uint32_t i) {
    return until([&] {
      return std::ranges::none_of(nodes_, [&](const auto& n) {
        const transport::session* const to = n->wire().find(i + 1);
        return to != nullptr && to->connected(transport::traffic_class::collective);
      });
    });
  }

  void start(std::uint32_t i, node_options options, std::uint64_t incarnation) {
    open(i, std::move(options), incarnation);
    introduce(i);
  }

  static constexpr std::uint32_t outsiders = 1;  ///< hosts of the world after those of the nodes

 protected:
  cluster(std::unique_ptr<world> surroundings, std::uint32_t size, const node_options& base)
      : surroundings_(std::move(surroundings)), addresses_(size), nodes_(size) {
    for (std::uint32_t i = 0; i < size; ++i) {
      rails_.push_back(surroundings_->make_rail(i + 1));
      addresses_[i] = surroundings_->address(i + 1);
    }
    for (std::uint32_t i = 0; i < size; ++i) open(i, base, 1);
    for (std::uint32_t i = 0; i < size; ++i) introduce(i);
  }

 private:
  template <class S>
  static task<bcast_result<detail::reply_t<S>>> await_bcast(const group<S>& g,
                                                            const detail::request_t<S>& request,
                                                            bcast_options options) {
    auto r = co_await scoll::bcast(g, request, options);
    co_return r;
  }

  void open(std::uint32_t i, node_options options, std::uint64_t incarnation) {
    options.id = i + 1;
    options.cluster = "test";
    options.incarnation = incarnation;
    const auto security = surroundings_->security(i + 1);
    if (security.mode != transport::security_mode::none) options.security = security;
    nodes_[i] = std::make_unique<node>(get_executor(), *rails_[i], options);
    nodes_[i]->listen(addresses_[i]).value();
    addresses_[i] = nodes_[i]->listen_address();
  }
  void introduce(std::uint32_t i) {
    for (std::uint32_t j = 0; j < size(); ++j) {
      if (j != i) nodes_[i]->add_peer(j + 1, addresses_[j]).value();
    }
  }
  bool holds_nothing() {
    for (auto& n : nodes_) {
      if (n == nullptr) continue;
      if (scoll::detail::node_access::engine(*n).operations() != 0 || n->wire().messages_in_use() != 0)
        return false;
      if (scoll::detail::node_access::engine(*n).memory_for_parts().used() != 0) return false;
    }
    return true;
  }

  std::unique_ptr<world> surroundings_;
  std::vector<std::string> addresses_;
  std::vector<std::unique_ptr<transport::rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
};

/// A cluster in virtual time, for cases with exact times and with faults of single paths. Node i is host i of the
/// network.
class virtual_cluster final : public cluster {
 public:
  explicit virtual_cluster(std::uint32_t size, const node_options& base = {},
                           nanoseconds latency = std::chrono::microseconds(10))
      : virtual_cluster(make(size, latency).release(), size, base) {}

  testing::virtual_executor& ex;
  testing::sim_network& network;

 private:
  static std::unique_ptr<memory_world> make(std::uint32_t size, nanoseconds latency) {
    auto made = std::make_unique<memory_world>(testing::sim_network::usual_chunk_bytes, size + outsiders, 1);
    made->set_latency(latency);
    return made;
  }
  virtual_cluster(memory_world* made, std::uint32_t size, const node_options& base)
      : cluster(std::unique_ptr<world>(made), size, base), ex(made->clock), network(made->net) {}
};

/// A broadcast that has been started and runs while the test continues.
template <class S>
class flight {
 public:
  using result_type = bcast_result<detail::reply_t<S>>;

  flight(cluster& c, const group<S>& g, const detail::request_t<S>& request, bcast_options options = {})
      : cluster_(c), scope_(c.get_executor()), started_(c.now()) {
    scope_.spawn(go(g, request, options));
    c.run_ready();
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
    ended_ = cluster_.now();
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
