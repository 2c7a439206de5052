#include "scoll/collective.hpp"

#include "scoll/local_cluster.hpp"
#include "tests/catch.hpp"

namespace {

struct count_members {
  static constexpr scoll::service_id id{0x0140};
  struct request {};
  using reply = scoll::sum<std::uint32_t>;
  static reply execute(const request&, scoll::bcast_context&) { return {1}; }
};

scoll::task<std::uint32_t> count(scoll::node& node, const std::vector<scoll::target>& servers) {
  auto group = co_await node.create_group<count_members>(servers, {.tree = scoll::knomial{2}});
  auto answer = co_await scoll::bcast(group.value(), count_members::request{});
  co_return answer.ok() ? answer->value : 0;
}

}  // namespace

TEST_CASE("scoll/collective.hpp is enough to write a service and to broadcast to it", "[tcp]") {
  scoll::local_cluster cluster(4);
  cluster.serve(count_members{});
  CHECK(cluster.run(count(cluster[0], cluster.targets())) == 4);
}
