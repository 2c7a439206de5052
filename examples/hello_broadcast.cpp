// One request goes down a tree of eight servers, and one merged answer comes back. Prints something like:
//   84512 MiB are free; 8 of 8 executed and merged
#include <fmt/core.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "scoll/local_cluster.hpp"

using namespace std::chrono_literals;

// [readme]
struct free_space {                               // a service is a type: it says what every server does
  static constexpr scoll::service_id id{0x0100};  // the same number on all servers
  using request = std::string;                    // sent down the tree: any plain struct, here a path
  using reply = std::uint64_t;                    // sent back up the tree
  static reply execute(const request& path, scoll::bcast_context&) {
    return std::filesystem::space(path).available;
  }
  static void merge(reply& into, const reply& from) noexcept { into += from; }
};

scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<free_space>(servers, {.tree = scoll::knomial{2}});
  auto answer = co_await scoll::bcast(group.value(), "/", {.deadline = 5s});
  if (answer.has_value()) fmt::print("{} MiB are free; ", *answer >> 20);
  fmt::print("{}\n", describe(answer.outcome()));  // which members executed, which did not, and why
  co_return answer.ok();
}

int main() {
  scoll::local_cluster cluster(8);  // eight nodes in this process, over real TCP
  cluster.serve(free_space{});
  return cluster.run(ask(cluster[0], cluster.targets())) ? 0 : 1;
}
// [readme]
