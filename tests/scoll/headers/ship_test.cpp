#include "scoll/ship.hpp"

#include "scoll/local_cluster.hpp"
#include "tests/catch.hpp"

namespace {

inline constexpr scoll::remote_function<std::uint32_t, std::uint32_t> twice{"headers.twice"};

scoll::task<std::uint32_t> ask(scoll::node& node, scoll::node_id peer) {
  const auto answer = co_await scoll::ship(node, peer, twice, 21);
  co_return answer ? *answer : 0;
}

}  // namespace

TEST_CASE("scoll/ship.hpp is enough to serve a function and to call it", "[tcp]") {
  scoll::local_cluster cluster(2);
  cluster[1].serve(twice, [](const std::uint32_t& n, scoll::call_context&) { return 2 * n; }).value();
  CHECK(cluster.run(ask(cluster[0], cluster[1].id())) == 42);
}
