#include <random>
#include <span>
#include <utility>
#include <vector>

#include "scoll/collective/bcast.hpp"
#include "tests/catch.hpp"
#include "timed_nodes.hpp"
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

/// 64 nodes in four zones. Messages between zones cost ten times as much as those within one.
class four_zones {
 public:
  static constexpr std::uint32_t nodes = 64;

  four_zones(const testing::sim_link_model& near, const testing::sim_link_model& far,
             const std::vector<std::uint16_t>& zones)
      : all_(7, nodes, 16384) {
    all_.network.common_path().model = near;
    for (std::uint32_t a = 0; a < nodes; ++a) {
      targets_.push_back({a + 1, {}, zones[a]});
      for (std::uint32_t b = 0; b < nodes; ++b) {
        if (zones[a] != zones[b]) all_.network.path(a, b).model = far;
      }
    }
    all_.network.set_tamper([this](std::uint32_t from, std::uint32_t to, std::span<std::byte> piece) {
      if (targets_[from].zone != targets_[to].zone) count(piece);
      return true;
    });
    all_.boot([](node& self, std::uint32_t) { self.serve(present{}).value(); });
  }

  struct measured {
    nanoseconds took{0};
    std::uint32_t across = 0;
  };

  /// Measures the third broadcast of the root: its time, and the messages that go from zone to zone in it.
  measured broadcast(const tree_spec& tree) {
    group_options options;
    options.tree = tree;
    const auto group = all_.run(all_[0].create_group<present>(targets_, options)).value();
    measured m;
    for (int i = 0; i < 3; ++i) {
      across_ = 0;
      const nanoseconds began = all_.world.now();
      const auto answered = all_.run(ask(group));
      m = {all_.world.now() - began, across_};
      REQUIRE(answered == nodes);
    }
    REQUIRE(all_.run(all_[0].destroy(group)).has_value());
    return m;
  }

 private:
  static task<std::uint32_t> ask(group<present> all) {
    const present::request asked;
    auto r = co_await bcast(all, asked);
    co_return r.ok() ? r->members.value : 0;
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

  std::vector<target> targets_;  // by node
  std::uint32_t across_ = 0;
  test::timed_nodes all_;
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
