// Step 8 of docs/guide.md: a thread without coroutines calls one server and asks all of them.
#include <chrono>
#include <thread>

#include "scoll/blocking.hpp"
#include "servers.hpp"

using namespace std::chrono_literals;

namespace {

// [client]
scoll::task<scoll::result<std::uint64_t>> count_objects(scoll::node& node,
                                                        std::vector<scoll::target> targets) {
  auto group = co_await node.create_group<guide::usage>(targets);
  if (!group) co_return group.error();
  const guide::usage::request all_objects{.prefix = ""};
  auto answer = co_await scoll::bcast(*group, all_objects, {.deadline = 5s});
  if (!answer.ok()) co_return answer.status().error();
  co_return answer->objects.value;
}

/// Runs on a thread of its own; each call blocks until it has ended.
bool use(scoll::node& node, const std::vector<scoll::target>& targets) {
  const guide::put_request asked{.name = "greeting", .bytes = "hello"};
  const auto stored = ship_and_wait(node, 2, guide::put, asked, {.deadline = 1s});
  const auto counted = run_and_wait(node, [&] { return count_objects(node, targets); });
  return stored && counted && *counted == 1;
}
// [client]

scoll::task<scoll::status> tell(scoll::event& done) {
  done.set();
  co_return scoll::status{};
}
scoll::task<void> wait_for(scoll::event& done) {
  co_await done.wait();
}

}  // namespace

// [main]
int main() {
  const auto loop = scoll::transport::reactor::create().value();
  guide::servers servers(*loop, 2);
  scoll::event done;
  bool good = false;
  std::thread client([&] {
    good = use(servers[0].node(), servers.targets());
    run_and_wait(servers[0].node(), [&] { return tell(done); }).ignore();
  });
  sync_wait(*loop, wait_for(done));  // this thread drives the reactor meanwhile
  client.join();
  return sync_wait(*loop, servers.stop()) && good ? 0 : 1;
}
// [main]
