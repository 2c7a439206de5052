#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "scoll/scoll.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"

// Four nodes in one process, in virtual time: all that a user's own tests need.
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t size = 4;

struct count {
  static constexpr scoll::service_id id{0x0100};
  struct request {};
  using reply = std::uint64_t;
  static reply execute(const request&, scoll::bcast_context&) { return 1; }
  static void merge(reply& into, const reply& from) noexcept { into += from; }
};

struct server {
  server(scoll::testing::virtual_executor& clock, scoll::testing::sim_network& network, std::uint32_t host)
      : rail(network, clock, host), node(clock, rail, options(host)), handle(node.serve(count{}).value()) {
    node.listen(rail.listen_address()).value();
    for (std::uint32_t other = 0; other < size; ++other)
      if (other != host) node.add_peer(other + 1, scoll::testing::sim_network::address_of(other)).value();
  }
  static scoll::node_options options(std::uint32_t host) {
    scoll::node_options o;
    o.id = host + 1;
    o.incarnation = 1;
    return o;
  }

  scoll::testing::sim_rail rail;
  scoll::node node;
  scoll::service_handle handle;
};

scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<count>(servers);
  auto answer = co_await scoll::bcast(group.value(), count::request{});
  co_return answer.ok() && *answer == servers.size();
}

scoll::task<bool> stop(scoll::node& node) {
  const auto stopped = co_await node.shutdown(1s);
  co_return stopped.has_value();
}

}  // namespace

int main() {
  scoll::testing::virtual_executor clock;
  scoll::testing::sim_network network(clock.world(), scoll::testing::sim_network::usual_chunk_bytes, size);
  network.common_path().model.latency = 2ms;
  std::vector<std::unique_ptr<server>> servers;
  std::vector<scoll::target> targets;
  for (std::uint32_t host = 0; host < size; ++host) {
    servers.push_back(std::make_unique<server>(clock, network, host));
    targets.push_back({host + 1, {}});
  }
  const auto begun = clock.now();
  bool ok = sync_wait(clock, ask(servers[0]->node, targets));
  ok = ok && clock.now() - begun > 4ms;
  for (auto& s : servers) ok = sync_wait(clock, stop(s->node)) && ok;
  std::printf("in virtual time: %s\n", ok ? "ok" : "no");
  return ok ? 0 : 1;
}
