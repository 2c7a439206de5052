#include <array>
#include <map>

#include "transfers.hpp"
#include "transport/memory/memory_right.hpp"
#include "transport/session/frame.hpp"
#include "transport/wire/wire.hpp"

using namespace transfers;

namespace {

/// The frames that a host receives, without those of the handshake.
class tap {
 public:
  explicit tap(memory_world& w) {
    w.net.set_tamper([this](std::uint32_t, std::uint32_t to, std::span<std::byte> chunk) {
      bytes& stream = streams_[to];
      stream.insert(stream.end(), chunk.begin(), chunk.end());
      return true;
    });
  }

  struct seen {
    frame_header header;
    std::vector<unsigned> head;
  };
  std::vector<seen> frames(std::uint32_t to) {
    std::vector<seen> all;
    std::span<const std::byte> rest(streams_[to]);
    while (rest.size() >= frame_header_bytes) {
      const auto header = decode_frame_header(rest.first<frame_header_bytes>());
      REQUIRE(header.has_value());
      const auto head = rest.subspan(frame_header_bytes, header->head_bytes);
      if (header->sequence != 0) {
        seen s{*header, {}};
        for (const std::byte b : head) s.head.push_back(std::to_integer<unsigned>(b));
        all.push_back(std::move(s));
      }
      rest = rest.subspan(header->frame_bytes());
    }
    return all;
  }

 private:
  std::map<std::uint32_t, bytes> streams_;
};

using golden_head = std::vector<unsigned>;

/// The envelope and head of a request for 20,000 or 10 bytes at offset 90, as docs/wire.md has them.
golden_head golden(unsigned operation, unsigned exchange, std::array<unsigned, 4> capacity,
                   std::array<unsigned, 4> length) {
  return {exchange, 0, 0, 0,         1, 0, 0,         0,         capacity[0], capacity[1], capacity[2], 0,  0,
          0,        0, 0, operation, 0, 0, 0,         0,         1,           0,           0,           0,  0,
          0,        0, 0, 1,         0, 0, 0,         0,         0,           0,           0,           90, 0,
          0,        0, 0, 0,         0, 0, length[0], length[1], length[2],   length[3]};
}

}  // namespace

TEST_CASE("gets and puts over a stream have their golden bytes") {
  memory_world w;
  tap wire(w);
  two p(w);
  fenced store(made(100'000, 1));
  const auto region = p.exposed(store.memory());
  fenced small(10);
  fenced large(20'000);
  REQUIRE(p.pull(region.descriptor(), 90, small.memory()).has_value());
  REQUIRE(p.pull(region.descriptor(), 90, large.memory()).has_value());
  REQUIRE(p.push(region.descriptor(), 90, small.memory()).has_value());
  REQUIRE(p.push(region.descriptor(), 90, large.memory()).has_value());
  const auto requests = wire.frames(2);
  const auto replies = wire.frames(1);
  REQUIRE(requests.size() == 4);
  REQUIRE(replies.size() == 4);
  constexpr std::array<unsigned, 4> none{};
  constexpr std::array<unsigned, 4> ten{10};
  constexpr std::array<unsigned, 4> many{0x20, 0x4e};  // 20,000
  const auto exchange = [&](std::size_t i) { return requests[i].head[0]; };
  const auto generation = [&](std::size_t i) { return requests[i].head[4]; };
  for (std::size_t i = 0; i < 4; ++i) {
    golden_head expected = golden(i < 2 ? 1 : 2, exchange(i),
                                  i == 0   ? ten
                                  : i == 1 ? many
                                           : none,
                                  i % 2 == 0 ? ten : many);
    expected[4] = generation(i);
    CHECK(requests[i].head == expected);
    CHECK(requests[i].header.type == frame_type::request);
    CHECK(requests[i].header.klass == traffic_class::bulk);
    CHECK(requests[i].header.payload_bytes == (i < 2 ? 0U : i == 2 ? 10U : 20'000U));
    CHECK(requests[i].header.payload_checked == (i != 3));
    golden_head answer(requests[i].head.begin(), requests[i].head.begin() + 8);
    answer.insert(answer.end(), {0, 0, 1, 0, 0, 0, 0, 0});
    CHECK(replies[i].head == answer);
    CHECK(replies[i].header.type == frame_type::reply);
    CHECK(replies[i].header.payload_bytes == (i == 0 ? 10U : i == 1 ? 20'000U : 0U));
    CHECK(replies[i].header.payload_checked == (i != 1));
    CHECK((replies[i].header.payload_checksum == 0) == (i == 1));
  }
}

TEST_CASE("rights have the golden bytes of the page on the wire format") {
  memory_right right;
  right.link = 5;
  const std::array<remote_extent, 1> one{{{0x1000, 7, 20'000}}};
  right.set_extents(one);
  const auto bytes_of = [](const auto& value) {
    std::array<std::byte, 128> into{};
    const auto size = wire::encode_to(into, value);
    REQUIRE(size.has_value());
    golden_head all;
    for (std::size_t i = 0; i < *size; ++i) all.push_back(std::to_integer<unsigned>(into[i]));
    return all;
  };
  const golden_head golden_right{5,  0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0,    0,    0, 0,
                                 16, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0x20, 0x4e, 0, 0};
  CHECK(bytes_of(right) == golden_right);
  golden_head put{5, 1, 0, 0, 0,  2, 0, 0, 0, 0, 0, 0, 0,    3,    0, 0, 0,
                  0, 0, 0, 0, 90, 0, 0, 0, 0, 0, 0, 0, 0x20, 0x4e, 0, 0};
  put.insert(put.end(), golden_right.begin(), golden_right.end());
  CHECK(bytes_of(put_by_read_head{{memory_order_kind::put_by_read, 1, 2, 3, 90, 20'000}, right}) == put);
  right = {};
  right.link = 5;
  right.flags = memory_right::recalled;
  CHECK(bytes_of(right) == golden_head{5, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("strange rights are malformed") {
  const auto decoded = [](const golden_head& text) {
    bytes all;
    for (const unsigned b : text) all.push_back(static_cast<std::byte>(b));
    return wire::decode_from<memory_right>(all).has_value();
  };
  const golden_head extent{0, 16, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0};
  const auto with = [&](unsigned flags, unsigned count, std::size_t extents) {
    golden_head text{5, 0, 0, 0, flags, count, 0, 0, 0, 0, 0, 0, 0, 0};
    for (std::size_t i = 0; i < extents; ++i) text.insert(text.end(), extent.begin(), extent.end());
    return text;
  };
  CHECK(decoded(with(0, 1, 1)));
  CHECK(decoded(with(1, 4, 4)));
  CHECK(decoded(with(2, 0, 0)));
  CHECK_FALSE(decoded(with(0, 0, 0)));  // to nothing
  CHECK_FALSE(decoded(with(2, 1, 1)));  // a recall with a right
  CHECK_FALSE(decoded(with(4, 1, 1)));  // an unknown flag
  CHECK_FALSE(decoded(with(0, 5, 5)));
  CHECK_FALSE(decoded(with(0, 2, 1)));  // too short
  CHECK_FALSE(decoded(with(0, 1, 2)));  // too long
  golden_head empty = with(0, 1, 1);
  empty[empty.size() - 4] = 0;
  CHECK_FALSE(decoded(empty));
}

TEST_CASE("a pull over a stream has its frames and copies, and no more", "[reactor]") {
  const auto w = any_stream_world();
  two p(*w, [](endpoint_options& o) { o.transfer_segment_bytes = 524288; });
  constexpr std::size_t size = std::size_t{16} << 20U;
  constexpr std::uint64_t segments = size / 524288;
  fenced store(made(size, 1));
  const auto region = p.exposed(store.memory());
  fenced local(size);
  REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
  const endpoint_statistics left = p.left->ep->statistics();
  const endpoint_statistics right = p.right->ep->statistics();
  REQUIRE(p.pull(region.descriptor(), 0, local.memory()).has_value());
  const endpoint_statistics& asks = p.left->ep->statistics();
  const endpoint_statistics& answers = p.right->ep->statistics();
  // If the machine is slow, probes and their answers come on top, and the answer to one of before on each lane.
  constexpr std::uint64_t earlier = 2;
  const std::uint64_t probes =
      asks.probes_sent - left.probes_sent + answers.probes_sent - right.probes_sent + earlier;
  CHECK(asks.requests_sent - left.requests_sent == segments);
  CHECK(asks.frames_sent - left.frames_sent >= segments);
  CHECK(asks.frames_sent - left.frames_sent <= segments + probes);
  CHECK(asks.bytes_copied - left.bytes_copied == segments * (frame_header_bytes + 16 + memory_head_bytes));
  CHECK(answers.replies_sent - right.replies_sent == segments);
  CHECK(answers.frames_sent - right.frames_sent >= segments);
  CHECK(answers.frames_sent - right.frames_sent <= segments + probes);
  CHECK(answers.bytes_copied - right.bytes_copied == segments * (frame_header_bytes + 16));
  CHECK(local.holds(store.memory()));
}
