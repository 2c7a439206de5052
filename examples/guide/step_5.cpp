// Step 5 of docs/guide.md: one of four servers ends, the others notice, and the next broadcast leaves it out.
#include <fmt/core.h>

#include <chrono>

#include "servers.hpp"

using namespace std::chrono_literals;

namespace {

// [together]
/// Waits until this server has heard of every other one. A server that was never heard of is unknown, and never
/// becomes dead.
scoll::task<bool> all_alive(guide::server& server) {
  scoll::gossip::event_queue changes;
  server.participant().subscribe(changes);
  while (server.participant().take_snapshot().unknown != 0) {
    const auto change = co_await changes.next({});
    if (!change) co_return false;
  }
  co_return true;
}
// [together]

// [deaths]
scoll::task<scoll::node_id> next_death(guide::server& server) {
  scoll::gossip::event_queue changes;
  server.participant().subscribe(changes);
  while (true) {
    const auto change = co_await changes.next({});
    if (!change) co_return 0;  // changes came faster than they were read: look at the participant's state
    if (change->kind == scoll::gossip::event_kind::dead) co_return server.node_of(change->who);
  }
}
// [deaths]

// [alive]
scoll::task<bool> ask_the_living(const scoll::group<guide::usage>& group) {
  const guide::usage::request all_objects{.prefix = ""};
  auto answer = co_await scoll::bcast(group.alive(), all_objects, {.deadline = 5s});
  fmt::print("{}\n", describe(answer.outcome()));
  co_return answer.ok();  // every member that was asked has answered
}
// [alive]

scoll::task<bool> show(guide::servers& servers) {
  const bool active = co_await servers.active();
  auto group = co_await servers[0].node().create_group<guide::usage>(servers.targets());
  const bool together = co_await all_alive(servers[0]);
  if (!active || !group || !together) co_return false;
  const bool before = co_await ask_the_living(*group);
  auto both = co_await scoll::when_all(next_death(servers[0]), servers.stop(3));
  fmt::print("node {} is dead\n", std::get<0>(both));
  const bool after = co_await ask_the_living(*group);
  co_return before&& after&& std::get<0>(both) == 4;
}

}  // namespace

int main() {
  const auto loop = scoll::transport::reactor::create().value();
  guide::servers servers(*loop, 4);
  const bool shown = sync_wait(*loop, show(servers));
  return sync_wait(*loop, servers.stop()) && shown ? 0 : 1;
}
