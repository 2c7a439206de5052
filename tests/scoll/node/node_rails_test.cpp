#include "scoll/node_rails.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "scoll/settings.hpp"
#include "scoll/ship.hpp"
#include "tests/catch.hpp"
#include "tests/support/world.hpp"
#include "transport/session/rails/path.hpp"
#include "transport/session/session.hpp"
#include "transport/verbs/control_thread.hpp"
#include "transport/verbs/verbs_api.hpp"

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
  node_rails rails(w.loop(), chosen.rails(), {.tcp = chosen.tcp()});
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
  node_rails rails(w.loop(), settings().rails());
  node_options options = options_of(1);
  options.listen = "127.0.0.1:0";
  node one(w.ex(), rails.set(), options);
  REQUIRE(one.listen().has_value());
  CHECK(rails.size() == 1);
  CHECK(rails.listen_addresses()[0] == one.listen_address());
  CHECK(one.listen_address().starts_with("127.0.0.1:"));
  sync_wait(w.loop(), one.shutdown(1s)).ignore();
}

namespace {

/// A machine without RDMA devices.
class no_devices final : public transport::verbs_api {
 public:
  explicit no_devices(transport::reactor& loop) noexcept : control_(loop) {}

  std::vector<std::string> device_names() override { return {}; }
  result<std::unique_ptr<transport::verbs::device_context>> open(const std::string&) override {
    return error(errc::not_found, "there is none");
  }
  transport::verbs::control_queue& control() noexcept override { return control_; }
  std::uint64_t seed() override { return 1; }

 private:
  transport::verbs::control_thread control_;
};

/// A node whose rails may be of RDMA.
struct rdma_node {
  rdma_node(test::tcp_world& w, node_id id, const std::string& use, const std::string& listen)
      : loop(w.loop()),
        rails(loop, parse_rails(use).rails, rail_options{.devices = std::make_shared<no_devices>(loop)}),
        self(loop, rails.set(), options_with(id, listen)) {}
  ~rdma_node() {
    sync_wait(loop, self.shutdown(1s)).ignore();
    while (rails.open() != 0) loop.run_once(10ms);
  }
  rdma_node(const rdma_node&) = delete;
  rdma_node& operator=(const rdma_node&) = delete;

  static node_options options_with(node_id id, const std::string& listen) {
    node_options o = options_of(id);
    o.listen = listen;
    return o;
  }

  transport::reactor& loop;
  node_rails rails;
  node self;
};

}  // namespace

TEST_CASE("a rail by RDMA has its transport in its address, and prefers bulk data if the list says so",
          "[tcp]") {
  test::tcp_world w(test::tcp_world::family::v4);
  rdma_node one(w, 1, "a=tcp://127.20.0.1:0/24, b=verbs://127.20.0.1:0/24!bulk", "");
  REQUIRE(one.self.listen().has_value());
  const auto bound = one.rails.listen_addresses();
  REQUIRE(bound.size() == 2);
  CHECK(bound[0].starts_with("127.20.0.1:"));
  CHECK(bound[1].starts_with("verbs://127.20.0.1:"));
  CHECK(one.self.wire().bulk_prefers(1));
  REQUIRE(one.self.add_peer(2, {"127.20.0.2:7001", "verbs://127.20.0.2:7002"}).has_value());
  const auto paths = one.self.wire().find(2)->paths();  // each from a transport to the same one
  REQUIRE(paths.size() == 2);
  for (const transport::path& each : paths) CHECK(each.key().own == each.key().theirs);
}

TEST_CASE("with devices and without a list, addresses name their transports", "[tcp]") {
  test::tcp_world w(test::tcp_world::family::v4);
  const std::string listen = GENERATE("verbs://127.0.0.1:0", "127.0.0.1:0", "tcp://127.0.0.1:0",
                                      "tcp://127.0.0.1:0;bulk=verbs://127.0.0.1:0");
  rdma_node one(w, 1, "", listen);
  REQUIRE(one.self.listen().has_value());
  const std::string bound = one.self.listen_address();
  INFO(listen << " became " << bound);
  const bool messages_by_rdma = listen.starts_with("verbs");
  CHECK(bound.starts_with(messages_by_rdma ? "verbs://127.0.0.1:" : "tcp://127.0.0.1:"));
  CHECK((bound.find(";bulk=verbs://127.0.0.1:") != std::string::npos) ==
        (listen.find(";bulk") != std::string::npos));
  CHECK(one.self.wire().has_named_rails());
}

TEST_CASE("a rail by RDMA without devices says what is missing, when it is made and when it is used",
          "[tcp]") {
  test::tcp_world w(test::tcp_world::family::v4);
  CHECK_THROWS_WITH(node_rails(w.loop(), parse_rails("b=verbs://127.20.0.1:0").rails),
                    Catch::Contains("rail b needs RDMA: give node_rails the devices of use_ibverbs"));
  rdma_node server(w, 1, "", "verbs://127.0.0.1:0");
  rdma_node client(w, 2, "", "verbs://127.0.0.1:0");
  REQUIRE(server.self.listen().has_value());
  const auto found = sync_wait(w.loop(), find_server(client.self, server.self.listen_address()));
  REQUIRE_FALSE(found.has_value());
  CHECK_THAT(std::string(found.error().text()), Catch::Contains("no RDMA device: load its driver"));
}
