#include <deque>
#include <vector>

#include "tests/catch.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"
#include "transport/wire/checksum.hpp"

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;
using std::chrono::microseconds;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t frame_bytes = 10'000;

/// One end of a connection; it counts the frames that arrive.
struct stream final : link_events {
  stream(sim_executor& host, transport::link& of) : home(host), end(&of) { of.set_owner(this); }
  ~stream() {
    if (end == nullptr) return;
    end->set_owner(nullptr);
    end->close();
  }

  void on_frame(frame_view&) noexcept override { arrivals.push_back(home.world().now()); }
  void on_writable() noexcept override {}
  void on_closed(const error&) noexcept override { end = nullptr; }

  /// Sends frames of `frame_bytes` bytes, in one batch.
  void send(std::size_t frames) {
    const std::vector<std::byte> payload(frame_bytes - frame_header_bytes);
    std::vector<std::byte> head(frame_header_bytes);
    encode_frame_header(head, {.payload_bytes = static_cast<std::uint32_t>(payload.size()),
                               .payload_checksum = wire::checksum(payload)});
    const std::vector<frame_parts> parts(frames, {head, payload});
    home.enter([&] { end->write(parts); });
  }

  sim_executor& home;
  transport::link* end;
  std::vector<nanoseconds> arrivals;
};

struct ingress_host final : accept_events, connect_events {
  ingress_host(sim_world& world, sim_network& network, std::uint32_t host)
      : home(world, host, {}), rail(network, home) {
    REQUIRE(rail.listen(sim_network::address_of(host), *this).has_value());
  }

  void on_accepted(transport::link& accepted) noexcept override { streams.emplace_back(home, accepted); }
  void on_connected(transport::link& connected) noexcept override { streams.emplace_back(home, connected); }
  void on_connect_failed(const error&) noexcept override {}

  sim_executor home;
  sim_rail rail;
  std::deque<stream> streams;
};

/// Hosts 1 and 2 have a stream each to host 0, and a byte takes 1 us.
struct fan_in {
  explicit fan_in(bool ingress) {
    network.common_path().model = {.latency = microseconds(100),
                                   .overhead = nanoseconds(0),
                                   .gap = nanoseconds(0),
                                   .ps_per_byte = 1'000'000,
                                   .jitter = nanoseconds(0),
                                   .ingress = ingress};
    for (ingress_host* s : {&one, &two})
      s->home.enter([&] { s->rail.connect(sim_network::address_of(0), *s); });
    world.run_until(milliseconds(1));
    REQUIRE(sink.streams.size() == 2);
  }

  /// When the last frame of each stream has arrived, counted from the time of sending.
  std::vector<microseconds> last_arrivals() {
    world.run_until(milliseconds(1000));
    std::vector<microseconds> last;
    for (const stream& s : sink.streams) {
      REQUIRE(!s.arrivals.empty());
      last.push_back(std::chrono::duration_cast<microseconds>(s.arrivals.back() - milliseconds(1)));
    }
    return last;
  }

  sim_world world{7, 3};
  sim_network network{world, 4096};
  ingress_host sink{world, network, 0}, one{world, network, 1}, two{world, network, 2};
};

constexpr microseconds ten_frames(10 * frame_bytes);
constexpr microseconds alone = microseconds(100) + ten_frames;
// Streams take turns by chunks, so this is what one may be off.
constexpr microseconds turn(4096);

}  // namespace

TEST_CASE("without ingress any number of streams arrive at a host as fast as one") {
  fan_in f(false);
  f.one.streams[0].send(10);
  f.two.streams[0].send(10);
  CHECK(f.last_arrivals() == std::vector{alone, alone});
}

TEST_CASE("with ingress two streams take a host twice the time, and share it") {
  fan_in f(true);
  f.one.streams[0].send(10);
  f.two.streams[0].send(10);
  const auto last = f.last_arrivals();
  const auto [first, second] = std::minmax(last[0], last[1]);
  CHECK(second == alone + ten_frames);
  CHECK(first >= second - 2 * turn);
}

TEST_CASE("with ingress a stream that has a host for itself takes the time of its wire") {
  fan_in f(true);
  f.one.streams[0].send(10);
  f.world.run_until(milliseconds(2));
  f.one.streams[0].send(10);
  f.world.run_until(milliseconds(500));
  f.two.streams[0].send(10);
  const auto last = f.last_arrivals();
  CHECK(last[0] == alone + ten_frames);
  CHECK(last[1] == microseconds(499'000) + alone);
}

TEST_CASE("with ingress a short frame waits for a turn, not for the end of a long one") {
  fan_in f(true);
  f.one.streams[0].send(10);
  f.world.run_until(milliseconds(1) + ten_frames / 2);
  f.two.streams[0].send(1);
  const auto last = f.last_arrivals();
  const microseconds one_frame(frame_bytes);
  CHECK(last[0] == alone + one_frame);
  CHECK(last[1] > ten_frames / 2 + microseconds(100) + one_frame);
  CHECK(last[1] <= ten_frames / 2 + microseconds(100) + 2 * one_frame + turn);
}

TEST_CASE("with ingress what a host sends does not keep it from taking in") {
  fan_in f(true);
  f.one.streams[0].send(10);
  f.sink.streams[0].send(10);
  f.world.run_until(milliseconds(1000));
  CHECK(f.sink.streams[0].arrivals.back() == milliseconds(1) + alone);
  CHECK(f.one.streams[0].arrivals.back() == milliseconds(1) + alone);
}
