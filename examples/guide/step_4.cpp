// Step 4 of docs/guide.md: three servers gossip, and broadcast as soon as they take part.
#include <chrono>

#include "servers.hpp"

using namespace std::chrono_literals;

namespace {

// [ask]
scoll::task<bool> ask(guide::server& server, const std::vector<scoll::target>& targets) {
  const auto ready = co_await server.active();
  if (!ready) co_return false;
  auto group = co_await server.node().create_group<guide::usage>(targets);
  if (!group) co_return false;
  const guide::usage::request all_objects{.prefix = ""};
  auto answer = co_await scoll::bcast(group->alive(), all_objects, {.deadline = 5s});
  co_return answer.ok();
}
// [ask]

}  // namespace

int main() {
  const auto loop = scoll::transport::reactor::create().value();
  guide::servers servers(*loop, 3);
  const bool active = sync_wait(*loop, servers.active());
  const bool asked = sync_wait(*loop, ask(servers[0], servers.targets()));
  return sync_wait(*loop, servers.stop()) && active && asked ? 0 : 1;
}
