// Step 1 of docs/guide.md: a service, and four servers in one process to try it on. Prints:
//   4000 objects, the largest has 4096 bytes
//   4 of 4 executed and merged
#include <fmt/core.h>

#include <chrono>
#include <string>

#include "scoll/collective.hpp"
#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

// [service]
struct usage {
  static constexpr scoll::service_id id{
      0x0120};  // the same in every program; 255 and below belong to the library
  struct request {
    std::string prefix;  // count the objects whose names begin with it
  };
  struct reply {
    scoll::sum<std::uint64_t> objects;
    scoll::maximum<std::uint64_t> largest;
  };
  static reply execute(const request&, scoll::bcast_context& call) {
    return {.objects = {1000}, .largest = {std::uint64_t{1024} * (call.rank() + 1)}};
  }
};
// [service]

// [ask]
scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<usage>(servers);
  if (!group) co_return false;
  const usage::request all_objects{.prefix = ""};
  auto answer = co_await scoll::bcast(*group, all_objects, {.deadline = 5s});
  if (answer.has_value()) {
    fmt::print("{} objects, the largest has {} bytes\n", answer->objects.value, answer->largest.value);
  }
  fmt::print("{}\n", describe(answer.outcome()));
  co_return answer.ok();
}

int main() {
  scoll::local_cluster cluster(4);
  cluster.serve(usage{});
  return cluster.run(ask(cluster[0], cluster.targets())) ? 0 : 1;
}
// [ask]
