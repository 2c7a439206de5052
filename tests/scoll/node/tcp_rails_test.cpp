#include "scoll/tcp_rails.hpp"

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/settings.hpp"
#include "tests/catch.hpp"
#include "tests/support/world.hpp"

using namespace scoll;
using namespace std::chrono_literals;

namespace {

node_options options_of(node_id id) {
  node_options o;
  o.id = id;
  return o;
}

}  // namespace

TEST_CASE("the rails of a setting listen each on their own address", "[tcp]") {
  settings chosen;
  REQUIRE(chosen.set("rails.use", "a=tcp://127.20.0.1:0/24%lo, b=tcp://127.21.0.1:0/24!bulk").has_value());
  test::tcp_world w(test::tcp_world::family::v4);
  tcp_rails rails(w.loop(), chosen.rails(), chosen.tcp());
  node one(w.ex(), rails.set(), options_of(1));
  REQUIRE(one.listen().has_value());
  const auto bound = rails.listen_addresses();
  REQUIRE(bound.size() == 2);
  CHECK(bound[0].starts_with("127.20.0.1:"));
  CHECK(bound[1].starts_with("127.21.0.1:"));
  CHECK_FALSE(bound[0].ends_with(":0"));
  CHECK(one.wire().bulk_prefers(1));
  CHECK_FALSE(one.wire().bulk_prefers(0));
  CHECK(one.wire().name_of_rail(1) == "b");
  sync_wait(w.loop(), one.shutdown(1s)).ignore();
}

TEST_CASE("without a list of rails there is one, which listens where the node says", "[tcp]") {
  test::tcp_world w(test::tcp_world::family::v4);
  tcp_rails rails(w.loop(), settings().rails());
  node_options options = options_of(1);
  options.listen = "127.0.0.1:0";
  node one(w.ex(), rails.set(), options);
  REQUIRE(one.listen().has_value());
  CHECK(rails.size() == 1);
  CHECK(rails.listen_addresses()[0] == one.listen_address());
  CHECK(one.listen_address().starts_with("127.0.0.1:"));
  sync_wait(w.loop(), one.shutdown(1s)).ignore();
}
