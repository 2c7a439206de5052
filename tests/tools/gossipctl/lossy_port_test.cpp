#include "tools/gossipctl/daemon/lossy_port.hpp"

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::transport;
using gossipctl::lossy_port;

namespace {

/// Counts the messages that would leave.
class sink_port final : public datagram_port {
 public:
  status bind(const std::string&, datagram_events&) noexcept override { return {}; }
  std::string bound_address() const override { return {}; }
  result<datagram_address> parse(std::string_view) const override { return datagram_address(); }
  std::string print(const datagram_address&) const override { return {}; }
  std::size_t max_datagram_bytes() const noexcept override { return 100; }
  status send(const datagram_address&, std::span<const std::byte> bytes) noexcept override {
    sent.push_back(std::to_integer<int>(bytes[0]));
    return {};
  }
  void close() noexcept override {}
  bool open() const noexcept override { return false; }
  datagram_statistics statistics() const noexcept override { return {}; }

  std::vector<int> sent;
};

std::vector<int> passed(double share, std::uint64_t seed) {
  sink_port sink;
  lossy_port port(sink, share, seed);
  for (int i = 0; i != 10'000; ++i) {
    const std::byte byte{static_cast<unsigned char>(i)};
    REQUIRE(port.send({}, std::span(&byte, 1)).has_value());
  }
  REQUIRE(port.lost() + sink.sent.size() == 10'000);
  return sink.sent;
}

}  // namespace

TEST_CASE("a share of datagrams is lost, the same ones for the same seed") {
  REQUIRE(passed(0, 1).size() == 10'000);
  REQUIRE(passed(1, 1).empty());
  const auto some = passed(0.2, 7);
  REQUIRE(some.size() > 7'800);
  REQUIRE(some.size() < 8'200);
  REQUIRE(passed(0.2, 7) == some);
  REQUIRE(passed(0.2, 8) != some);
}
