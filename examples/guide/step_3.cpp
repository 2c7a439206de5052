// Step 3 of docs/guide.md: functions that one server calls on another.
#include <fmt/core.h>

#include <chrono>

#include "objects.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

// [serve]
void serve_objects(scoll::node& node, guide::object_map& objects) {
  node.serve(guide::put, [&objects](const guide::put_request& asked,
                                    scoll::call_context&) { objects[asked.name] = asked.bytes; })
      .value();
  node.serve(guide::get,
             [&objects](const std::string& name, scoll::call_context&) -> scoll::result<std::string> {
               const auto found = objects.find(name);
               if (found == objects.end()) return scoll::error(scoll::errc::not_found, "no such object");
               return found->second;
             })
      .value();
}
// [serve]

// [call]
scoll::task<bool> use(scoll::node& node, scoll::node_id peer) {
  const guide::put_request asked{.name = "greeting", .bytes = "hello"};  // it owns memory, so it needs a name
  const auto stored = co_await scoll::ship(node, peer, guide::put, asked, {.deadline = 1s});
  if (!stored) {
    fmt::print("put: {}{}\n", describe(stored.error()),
               stored.may_have_executed() ? "; it may have run" : "; it did not run and can be repeated");
    co_return false;
  }
  const auto found = co_await scoll::ship(node, peer, guide::get, "greeting", {.deadline = 1s});
  const auto missing = co_await scoll::ship(node, peer, guide::get, "farewell", {.deadline = 1s});
  co_return found && *found == "hello" && !missing && missing.error().code() == scoll::errc::not_found;
}
// [call]

int main() {
  guide::object_map objects;
  scoll::local_cluster cluster(2);
  serve_objects(cluster[1], objects);
  return cluster.run(use(cluster[0], cluster[1].id())) ? 0 : 1;
}
