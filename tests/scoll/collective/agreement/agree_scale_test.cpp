#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node_pools.hpp"
#include "tests/scoll/collective/probe.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

/// Many nodes, each of which knows its neighbours in one tree alone.
class fleet {
 public:
  fleet(std::uint32_t n, const tree_spec& spec)
      : size_(n), network_(ex.world(), testing::sim_network::usual_chunk_bytes, n), ended_(n) {
    network_.common_path().model = testing::sim_link_model::ideal(10us);
    const auto pools = std::make_shared<node_pools>(n);
    const tree_view tree(spec, n, 0);
    std::vector<target> targets;
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      targets.push_back({rank + 1, {}});
      boot(rank, tree, pools);
    }
    work_ = std::make_unique<scope>(ex);
    id_ = sync_wait(ex, nodes_[0]->create_group<probe>(targets, {.tree = spec})).value().id();
  }
  ~fleet() {
    sync_wait(ex, join());
    for (auto& n : nodes_) sync_wait(ex, n->shutdown(1s)).ignore();
  }
  fleet(const fleet&) = delete;
  fleet& operator=(const fleet&) = delete;

  group<probe> at(std::uint32_t rank) { return nodes_[rank]->find_group<probe>(id_).value(); }
  nanoseconds broadcast() {
    const time_point start = ex.now();
    CHECK(sync_wait(ex, bcast_from_first()));
    return ex.now() - start;
  }
  void call(std::uint32_t rank) {
    work_->spawn(agree(rank, at(rank)));
    ex.run_now();
  }
  /// When the last call returned; `never` if one failed.
  time_point last_return() {
    sync_wait(ex, idle());
    return failed_ ? time_point::max() : *std::max_element(ended_.begin(), ended_.end());
  }
  std::uint64_t messages() {
    std::uint64_t sum = 0;
    for (auto& n : nodes_) sum += n->wire().statistics().requests_sent + n->wire().statistics().replies_sent;
    return sum;
  }

  testing::virtual_executor ex;

 private:
  void boot(std::uint32_t rank, const tree_view& tree, const std::shared_ptr<node_pools>& pools) {
    rails_.push_back(std::make_unique<testing::sim_rail>(network_, ex, rank));
    node_options options;
    options.id = rank + 1;
    options.cluster = "test";
    options.incarnation = 1;
    nodes_.push_back(std::make_unique<node>(ex, *rails_.back(), options, pools));
    node& self = *nodes_.back();
    self.listen(testing::sim_network::address_of(rank)).value();
    std::vector<std::uint32_t> known = tree.children(rank);
    if (rank != 0) known.push_back(tree.parent(rank));
    for (const std::uint32_t other : known)
      self.add_peer(other + 1, testing::sim_network::address_of(other)).value();
    self.serve(probe{}).value();
  }
  task<bool> bcast_from_first() {
    const probe::request request{};
    const auto r = co_await bcast(at(0), request);
    co_return r.ok();
  }
  task<void> agree(std::uint32_t rank, group<probe> g) {
    const sum<std::uint64_t> one{1};
    const auto agreed = co_await g.agree(1, one);
    failed_ = failed_ || !agreed.ok() || agreed->value != size_;
    ended_[rank] = ex.now();
  }
  task<void> join() { co_await work_->join(); }
  task<void> idle() {
    const status s = co_await work_->idle({});
    s.ignore();
  }

  std::uint32_t size_;
  testing::sim_network network_;
  std::vector<std::unique_ptr<testing::sim_rail>> rails_;
  std::vector<std::unique_ptr<node>> nodes_;
  std::unique_ptr<scope> work_;
  group_id id_;
  std::vector<time_point> ended_;
  bool failed_ = false;
};

}  // namespace

TEST_CASE("among 1,024 members an agreement takes two broadcasts from the last call on", "[agreement]") {
  const std::uint32_t n = 1024;
  const std::uint32_t last = GENERATE(0U, 511U, 1023U);
  fleet f(n, knomial{4});
  f.broadcast();
  const nanoseconds round_trip = f.broadcast();
  const std::uint64_t before = f.messages();
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    if (rank != last) f.call(rank);
  }
  f.ex.run_for(300ms);
  const time_point called = f.ex.now();
  f.call(last);
  const nanoseconds took = f.last_return() - called;
  // The proposer itself has to collect first, so its lateness costs half a broadcast more.
  INFO(took.count() << " ns, a broadcast takes " << round_trip.count());
  CHECK(10 * took <= (last == 0 ? 26 : 22) * round_trip);
  f.ex.run_for(100ms);
  CHECK(f.messages() - before == 6 * (n - 1));
}
