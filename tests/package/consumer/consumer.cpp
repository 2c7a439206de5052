#include <cstdint>
#include <cstdio>

#include "scoll/local_cluster.hpp"
#include "scoll/version.hpp"

struct count {
  static constexpr scoll::service_id id{0x0100};
  struct request {};
  using reply = std::uint64_t;
  static reply execute(const request&, scoll::bcast_context&) { return 1; }
  static void merge(reply& into, const reply& from) noexcept { into += from; }
};

scoll::task<bool> ask(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<count>(servers);
  auto answer = co_await scoll::bcast(group.value(), count::request{});
  co_return answer.ok() && *answer == servers.size();
}

int main() {
  scoll::local_cluster cluster(4);
  cluster.serve(count{});
  const bool ok = cluster.run(ask(cluster[0], cluster.targets()));
  std::printf("scoll %.*s: %s\n", static_cast<int>(scoll::version.size()), scoll::version.data(),
              ok ? "ok" : "no");
  return ok ? 0 : 1;
}
