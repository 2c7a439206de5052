#include "scoll/bulk.hpp"

#include <algorithm>
#include <vector>

#include "scoll/local_cluster.hpp"
#include "tests/catch.hpp"

namespace {

scoll::task<scoll::status> fetch(scoll::node& node, const scoll::region_descriptor& from,
                                 std::span<std::byte> into) {
  const auto pulled = co_await scoll::pull(node, from, 0, into);
  co_return pulled;
}

}  // namespace

TEST_CASE("scoll/bulk.hpp is enough to expose memory and to pull it", "[tcp]") {
  const std::vector<std::byte> object(100'000, std::byte{7});
  std::vector<std::byte> copy(object.size());
  scoll::local_cluster cluster(2);
  const auto exposed = scoll::expose(cluster[0], std::span(object));
  REQUIRE(exposed);
  CHECK(cluster.run(fetch(cluster[1], exposed->descriptor(), copy)));
  CHECK(std::ranges::equal(copy, object));
}
