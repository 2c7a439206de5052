#include <deque>
#include <future>
#include <thread>

#include "scoll/collective/plan_tree.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "tests/catch.hpp"
#include "transport/io/reactor.hpp"
#include "transport/tcp/tcp_rail.hpp"

using namespace scoll;

namespace {

/// A node on a reactor and a thread of its own, so that no other node shares its processor time.
class threaded_node {
 public:
  /// Knows one peer, node 1.
  threaded_node(node_id id, const std::string& first)
      : address_(ready_.get_future()),
        thread_([this, id, first] { live(id, first); }),
        listens_at(address_.get()) {}
  ~threaded_node() {
    home_->post(end_);
    thread_.join();
  }
  threaded_node(const threaded_node&) = delete;
  threaded_node& operator=(const threaded_node&) = delete;

 private:
  struct ending final : posted_node {
    ending() : posted_node([](posted_node& self) noexcept { static_cast<ending&>(self).wanted.set(); }) {}
    event wanted;
  };

  void live(node_id id, const std::string& first) {
    transport::reactor_options quiet;
    quiet.announce = false;
    const auto ring = transport::reactor::create(quiet).value();
    transport::tcp_rail rail(*ring);
    node_options options;
    options.id = id;
    options.cluster = "test";
    options.incarnation = 1;
    node self(*ring, rail, options);
    serve_link_probe(self).value();
    self.listen("127.0.0.1:0").value();
    self.add_peer(1, first).value();
    home_ = ring.get();
    ready_.set_value(self.listen_address());
    sync_wait(*ring, serve(self));
    while (rail.open() != 0) ring->run_once(std::chrono::milliseconds(10));
  }
  task<void> serve(node& self) {
    co_await end_.wanted.wait();
    (co_await self.shutdown(std::chrono::seconds(4))).ignore();
  }

  std::promise<std::string> ready_;
  std::future<std::string> address_;
  executor* home_ = nullptr;
  ending end_;
  std::thread thread_;

 public:
  const std::string listens_at;
};

}  // namespace

TEST_CASE("links over TCP are measured within bounds, and the plan's tree carries broadcasts", "[plan]") {
  transport::reactor_options quiet;
  quiet.announce = false;
  const auto ring = transport::reactor::create(quiet).value();
  transport::tcp_rail rail(*ring);
  node_options options;
  options.id = 1;
  options.cluster = "test";
  options.incarnation = 1;
  {
    node self(*ring, rail, options);
    serve_link_probe(self).value();
    self.listen("127.0.0.1:0").value();
    std::deque<threaded_node> others;
    for (node_id id = 2; id <= 5; ++id) others.emplace_back(id, self.listen_address());
    std::vector<target> targets{{1, {}}};
    for (node_id id = 2; id <= 5; ++id) {
      self.add_peer(id, others[id - 2].listens_at).value();
      targets.push_back({id, {}});
    }
    const auto plan = sync_wait(*ring, plan_tree(self, targets));
    INFO((plan ? to_text(*plan, 100) : describe(plan.error())));
    REQUIRE(plan.has_value());
    const link_map& links = plan->links;
    REQUIRE(links.classes.size() == 1);
    CHECK(links.classes[0].name == "same host");
    CHECK(links.local == 0U);
    CHECK(links.processors == std::vector<std::uint32_t>{std::thread::hardware_concurrency()});
    const link_costs& costs = links.classes[0].costs;
    // A message takes at least one system call on each side, and no machine is as slow as the upper bounds.
    CHECK(costs.send + costs.merge + costs.wake > 1000);
    CHECK(costs.send + costs.receive > 1000);
    CHECK(costs.send + costs.merge + costs.wake + costs.receive < 50'000'000);
    CHECK(costs.latency < 1'000'000'000);
    CHECK(plan->predicted->merged > 2 * costs.latency + 1000);
    REQUIRE(links.bulk());
    const bulk_costs bulk = *links.bulk();
    CAPTURE(bulk.hop_ns, bulk.piece_ns, bulk.link_ps, bulk.hash_ps, bulk.host_ps);
    // No processor hashes or copies 50 bytes in a nanosecond, and no machine needs 100 ns for one.
    CHECK((bulk.hash_ps > 20 && bulk.hash_ps < 100'000));
    CHECK((bulk.host_ps > 20 && bulk.host_ps < 100'000));
    CHECK((bulk.host_small_ps > 20 && bulk.host_small_ps < 100'000));
    CHECK(bulk.link_ps < 100'000);
    CHECK((bulk.hop_ns < 1'000'000'000 && bulk.piece_ns < 1'000'000'000));
    CHECK(plan->candidates.size() >= 6);
    sync_wait(*ring, self.shutdown(std::chrono::seconds(4))).ignore();
  }
  while (rail.open() != 0) ring->run_once(std::chrono::milliseconds(10));
}
