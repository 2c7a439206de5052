// Plan A and plan B: five servers wait for each other in a ring when one of them leaves. The first to notice
// revokes the group, which ends the waiting of all; those who are left shrink the group and go on. Prints:
//   server 5: closed; it revokes the ring
//   server 1: revoked by server 5: server 4 has left
//   ...
//   plan B: 4 servers, all of them agree to go on at block 41
#include <fmt/core.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scoll/coro.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/local_cluster.hpp"
#include "scoll/ship.hpp"

using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t servers = 5, leaver = 3;  // ranks

struct ring {
  static constexpr scoll::service_id id{0x0150};
  struct request {};
  using reply = scoll::sum<std::uint64_t>;
  static reply execute(const request&, scoll::bcast_context& call) { return {call.self()}; }
};

// In this small ring nobody has anything to give: the call lasts until somebody ends it.
constexpr scoll::remote_function<scoll::nothing, std::uint64_t> next_block{"plan_b.next_block"};

scoll::task<scoll::result<std::uint64_t>> give(const scoll::nothing&, scoll::call_context& call) {
  scoll::event never;
  const auto stopped = co_await never.wait(call.stop());
  co_return stopped.error();
}

// [survive]
/// Plays one server, which waits for the server before it and takes part in plan B when plan A is over.
scoll::task<void> survive(scoll::node& node, scoll::group<ring> plan_a, std::uint64_t finished,
                          std::optional<scoll::group<ring>>& plan_b, std::uint64_t& go_on_at) {
  const std::uint32_t before = (plan_a.rank() + servers - 1) % servers;
  const auto block =
      co_await scoll::ship(node, plan_a.members().node(before), next_block, {.within = plan_a});
  if (block.error() == scoll::errc::revoked) {
    fmt::print("server {}: {}\n", node.id(), scoll::describe(block.error()));
  } else {  // this server notices first
    fmt::print("server {}: {}; it revokes the ring\n", node.id(), scoll::describe(block.error()));
    const std::string why = fmt::format("server {} has left", plan_a.members().node(before));
    const auto told = co_await plan_a.revoke(1, why);
    if (!told) co_return;
  }
  auto left = co_await plan_a.shrink({.deadline = 10s});
  if (!left) co_return;
  const scoll::minimum<std::uint64_t> mine{finished};
  const auto agreed = co_await left->agree(1, mine, {.deadline = 10s});
  if (!agreed.ok()) co_return;
  go_on_at = agreed->value;
  plan_b = *left;
}
// [survive]

scoll::task<bool> play(scoll::local_cluster& cluster) {
  auto plan_a =
      co_await cluster[0].create_group<ring>(cluster.targets(), {.lifetime = scoll::lifetime::members});
  if (!plan_a) co_return false;
  std::vector<std::optional<scoll::group<ring>>> plan_b(servers);
  std::vector<std::uint64_t> go_on_at(servers);
  scoll::scope survivors;
  for (std::uint32_t i = 0; i < servers; ++i) {
    if (i == leaver) continue;
    auto mine = cluster[i].find_group<ring>(plan_a->id());
    survivors.spawn(survive(cluster[i], mine.value(), 41 + i, plan_b[i], go_on_at[i]));
  }
  co_await scoll::sleep_for(50ms);
  (co_await cluster[leaver].shutdown(1s)).ignore();
  co_await survivors.join();

  for (std::uint32_t i = 0; i < servers; ++i) {
    if (i != leaver && (!plan_b[i] || plan_b[i]->id() != plan_b[0]->id() || go_on_at[i] != 41))
      co_return false;
  }
  const auto asked = co_await scoll::bcast(*plan_b[0], ring::request{}, {.deadline = 2s});
  if (!asked.ok()) co_return false;
  fmt::print("plan B: {} servers, all of them agree to go on at block {}\n", plan_b[0]->members().size(),
             go_on_at[0]);
  co_return (asked->value == 1 + 2 + 3 + 5);
}

}  // namespace

int main() {
  scoll::local_cluster cluster(servers);
  cluster.serve(ring{});
  for (std::uint32_t i = 0; i < servers; ++i) cluster[i].serve(next_block, &give).value();
  return cluster.run(play(cluster)) ? 0 : 1;
}
