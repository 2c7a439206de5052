#include <deque>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "scoll/collective/bcast.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "tests/catch.hpp"
#include "transport/session/frame.hpp"
#include "transport/sim/sim_network.hpp"

using namespace scoll;

namespace {

struct present {
  static constexpr service_id id{0x0621};
  struct request {};
  struct reply {
    sum<std::uint32_t> members;
  };
  static reply execute(const request&, bcast_context&) noexcept { return {{1}}; }
};

/// 64 nodes in four zones, each with a processor of its own. Messages between zones cost ten times as much as
/// those within one.
class four_zones {
 public:
  static constexpr std::uint32_t nodes = 64;

  four_zones(const testing::sim_link_model& near, const testing::sim_link_model& far,
             std::vector<std::uint16_t> zones)
      : world_(7, nodes, false), network_(world_, 16384), zones_(std::move(zones)) {
    network_.common_path().model = near;
    for (std::uint32_t a = 0; a < nodes; ++a) {
      targets_.push_back({a + 1, {}, zone_of(a)});
      for (std::uint32_t b = 0; b < nodes; ++b) {
        if (zone_of(a) != zone_of(b)) network_.path(a, b).model = far;
      }
    }
    network_.set_tamper([this](std::uint32_t from, std::uint32_t to, std::span<std::byte> piece) {
      if (zone_of(from) != zone_of(to)) count(piece);
      return true;
    });
    for (std::uint32_t i = 0; i < nodes; ++i) boot(i);
  }
  ~four_zones() {
    for (station& s : stations_) run(s.self->shutdown(std::chrono::seconds(2))).ignore();
    for (station& s : stations_) s.home.enter([&] { s.self.reset(); });
  }

  struct measured {
    nanoseconds took{0};
    std::uint32_t across = 0;
  };

  /// Measures the third broadcast of the root: its time, and the messages that go from zone to zone in it.
  measured broadcast(const tree_spec& tree) {
    group_options options;
    options.tree = tree;
    const auto all = run(stations_[0].self->create_group<present>(targets_, options)).value();
    measured m;
    for (int i = 0; i < 3; ++i) {
      across_ = 0;
      const nanoseconds began = world_.now();
      const auto answered = run(ask(all));
      m = {world_.now() - began, across_};
      REQUIRE(answered == nodes);
    }
    REQUIRE(run(stations_[0].self->destroy(all)).has_value());
    return m;
  }

 private:
  struct station {
    station(testing::sim_world& world, testing::sim_network& network, std::uint32_t host)
        : home(world, host, {}), rail(network, home) {}
    testing::sim_executor home;
    testing::sim_rail rail;
    std::unique_ptr<node> self;
  };

  std::uint16_t zone_of(std::uint32_t node) const { return zones_[node]; }

  static task<std::uint32_t> ask(group<present> all) {
    const present::request asked;
    auto r = co_await bcast(all, asked);
    co_return r.ok() ? r->members.value : 0;
  }

  void boot(std::uint32_t i) {
    station& s = stations_.emplace_back(world_, network_, i);
    s.home.enter([&] {
      node_options options;
      options.id = i + 1;
      options.cluster = "test";
      options.incarnation = 1;
      s.self = std::make_unique<node>(s.home, s.rail, options);
      s.self->listen(s.rail.listen_address()).value();
      for (std::uint32_t j = 0; j < nodes; ++j) {
        if (j != i) s.self->add_peer(j + 1, testing::sim_network::address_of(j)).value();
      }
      s.self->serve(present{}).value();
    });
  }

  /// A piece holds whole frames here.
  void count(std::span<const std::byte> piece) {
    using namespace scoll::transport;
    while (piece.size() >= frame_header_bytes) {
      const auto header = decode_frame_header(piece.first<frame_header_bytes>());
      if (!header || header->frame_bytes() > piece.size()) return;
      const bool message = header->type == frame_type::request || header->type == frame_type::reply;
      across_ += message && header->klass == traffic_class::collective;
      piece = piece.subspan(header->frame_bytes());
    }
  }

  template <class T>
  T run(task<T> work) {
    station& root = stations_[0];
    scoll::detail::root_task<T> started(root.home, std::move(work));
    root.home.touch();
    const nanoseconds limit = world_.now() + std::chrono::seconds(60);
    while (!started.done()) REQUIRE(world_.step(limit));
    return started.take();
  }

  testing::sim_world world_;
  testing::sim_network network_;
  std::vector<std::uint16_t> zones_;  // by node
  std::vector<target> targets_;
  std::deque<station> stations_;
  std::uint32_t across_ = 0;
};

testing::sim_link_model times(testing::sim_link_model model, int factor) {
  model.latency *= factor;
  model.overhead *= factor;
  model.gap *= factor;
  model.ps_per_byte *= static_cast<std::uint64_t>(factor);
  return model;
}

testing::sim_link_model near_links() {
  testing::sim_link_model near;
  near.jitter = nanoseconds(0);
  near.sender_busy = true;
  return near;
}

/// The zone of each node, dealt in turn.
std::vector<std::uint16_t> in_turn() {
  std::vector<std::uint16_t> zones(four_zones::nodes);
  for (std::uint32_t i = 0; i < four_zones::nodes; ++i) zones[i] = static_cast<std::uint16_t>(1 + i % 4);
  return zones;
}

/// The same numbers in an order that follows no rule.
std::vector<std::uint16_t> mixed() {
  std::vector<std::uint16_t> zones = in_turn();
  std::mt19937 random(5);
  for (std::size_t i = zones.size() - 1; i > 0; --i) std::swap(zones[i], zones[random() % (i + 1)]);
  return zones;
}

}  // namespace

TEST_CASE("far zones are reached with three messages, and answer with three") {
  four_zones c(near_links(), times(near_links(), 10), mixed());
  const auto by_zone = c.broadcast(zoned{4, 8});
  const auto by_rank = c.broadcast(knomial{8});
  CAPTURE(by_zone.took.count(), by_rank.took.count(), by_rank.across);
  CHECK(by_zone.across == 6);
  CHECK(by_rank.across > 90);
  CHECK(by_zone.took * 10 <= by_rank.took * 6);
}

TEST_CASE("a zoned tree is not slower where each way through another tree crosses once anyway") {
  four_zones c(near_links(), times(near_links(), 10), in_turn());
  const auto by_zone = c.broadcast(zoned{4, 8});
  const auto by_rank =
      c.broadcast(knomial{8});  // 8 is a multiple of 4: the inner members are near their root
  CAPTURE(by_zone.took.count(), by_rank.took.count());
  CHECK(by_zone.across == 6);
  CHECK(by_rank.across == 96);
  CHECK(by_zone.took <= by_rank.took);
}
