// Step 2 of docs/guide.md: the parts of a server process. Here two servers share one process.
#include <chrono>

#include "objects.hpp"
#include "scoll/coro.hpp"
#include "scoll/node.hpp"
#include "transport/tcp/tcp_rail.hpp"

using namespace std::chrono_literals;

// [server]
class server {
 public:
  server(scoll::transport::reactor& loop, scoll::node_id id, const std::string& address)
      : rail_(loop), node_(loop, rail_, {.id = id, .cluster = "guide"}) {
    node_.serve(guide::usage{&objects_}).value();
    node_.listen(address).value();
  }
  scoll::node& node() noexcept { return node_; }
  guide::object_map& objects() noexcept { return objects_; }

 private:
  guide::object_map objects_;        // outlives the node: the service points to it
  scoll::transport::tcp_rail rail_;  // outlives the node; the reactor outlives both
  scoll::node node_;
};
// [server]

// [main]
scoll::task<bool> ask(scoll::node& node) {
  const std::vector<scoll::target> servers{{1, {}}, {2, {}}};
  auto group = co_await node.create_group<guide::usage>(servers);
  if (!group) co_return false;
  const guide::usage::request all_objects{.prefix = ""};
  auto answer = co_await scoll::bcast(*group, all_objects, {.deadline = 5s});
  co_return answer.ok() && answer->objects.value == 2;
}

int main() {
  const auto loop = scoll::transport::reactor::create().value();
  server first(*loop, 1, "127.0.0.1:0");  // port 0: any free port
  server second(*loop, 2, "127.0.0.1:0");
  first.node().add_peer(2, second.node().listen_address()).value();
  second.node().add_peer(1, first.node().listen_address()).value();
  first.objects() = {{"a", "first"}};
  second.objects() = {{"b", "second"}};

  const bool good = sync_wait(*loop, ask(first.node()));
  const bool first_ended = sync_wait(*loop, first.node().shutdown(5s)).has_value();
  const bool second_ended = sync_wait(*loop, second.node().shutdown(5s)).has_value();
  return good && first_ended && second_ended ? 0 : 1;
}
// [main]
