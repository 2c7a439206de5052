#include "transport/session/frame.hpp"

#include <algorithm>
#include <numeric>

#include "scoll/coro/error_format.hpp"
#include "tests/transport/session/messages.hpp"
#include "transport/session/frame_assembler.hpp"
#include "transport/session/greeting.hpp"
#include "transport/wire/wire.hpp"

using namespace network;

namespace {

std::vector<std::byte> seeded_bytes(std::size_t size, std::uint64_t seed) {
  std::vector<std::byte> b(size);
  for (std::size_t i = 0; i < size; ++i) b[i] = pattern(seed, i);
  return b;
}

frame_header header_of(std::uint64_t sequence) {
  frame_header h;
  h.type = frame_type::reply;
  h.klass = traffic_class::collective;
  h.sequence = sequence;
  h.acknowledged = 0x0102030405060708;
  h.granted = {1, 2, 0xffffffff, 4};
  return h;
}

/// Cuts a stream that arrives in buffers of at most `piece` bytes.
struct cutter {
  buffer_pool buffers{65536, 64};
  buffer_pool frames{max_frame_bytes, 8};
  frame_assembler assembler{frames};
  struct whole {
    frame_header header;
    std::vector<std::byte> head;
    buffer_view payload;
  };
  std::vector<whole> got;

  status feed(std::span<const std::byte> stream, std::size_t piece) {
    while (!stream.empty()) {
      buffer_ref buffer = buffers.try_acquire();
      REQUIRE(buffer);
      const std::size_t n = std::min(piece, stream.size());
      std::memcpy(buffer.data(), stream.data(), n);
      const auto s = assembler.feed(buffer, {buffer.data(), n}, [&](frame_view& f) {
        got.push_back({f.header, {f.head.begin(), f.head.end()}, std::move(f.payload)});
        return true;
      });
      if (!s) return s;
      stream = stream.subspan(n);
    }
    return {};
  }
};

}  // namespace

TEST_CASE("a frame header is these bytes") {
  frame_header h;
  h.type = frame_type::request;
  h.klass = traffic_class::call;
  h.sequence = 0x1122334455667788;
  h.acknowledged = 9;
  h.granted = {1, 2, 3, 0xa0b0c0d0};
  const std::byte head[3]{std::byte{'a'}, std::byte{'b'}, std::byte{'c'}};
  const std::byte payload[2]{std::byte{'x'}, std::byte{'y'}};
  const auto frame = frame_of(h, head, payload);
  REQUIRE(frame.size() == 64 + 3 + 2);
  std::string hex;
  for (std::size_t i = 0; i < 64; ++i) hex += fmt::format("{:02x}", std::to_integer<int>(frame[i]));
  const auto number = [](std::uint64_t value, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) text += fmt::format("{:02x}", value >> (8 * i) & 0xff);
    return text;
  };
  std::vector<std::byte> fields(frame.begin(), frame.begin() + 56);
  std::fill(fields.begin() + 12, fields.begin() + 16, std::byte{0});
  const auto header_sum = static_cast<std::uint32_t>(wire::checksum(fields));
  CHECK(hex ==
        "53434f4c"
        "04"
        "02"
        "0300"
        "02000000" +
            number(header_sum, 4) + "8877665544332211" + "0900000000000000" +
            "01000000"
            "02000000"
            "03000000"
            "d0c0b0a0" +
            number(wire::checksum(payload), 8) + number(wire::checksum(head, header_sum), 8));
  // The expected values are constants, so that a change of the checksums is noticed.
  CHECK(hex.substr(24, 8) == "3ac74b6d");
  CHECK(hex.substr(112, 16) == "d1da618168a2de18");
}

TEST_CASE("the number of a notice is sixteen, and its head may fill the room before an inline payload") {
  frame_header h;
  h.type = frame_type::notice;
  const auto frame = frame_of(h, seeded_bytes(max_notice_head_bytes, 1));
  CHECK(std::to_integer<int>(frame[4]) == 16);
  CHECK(std::to_integer<int>(frame[5]) == 0);
  CHECK(max_notice_head_bytes == message::common_head_bytes);
  cutter c;
  REQUIRE(c.feed(frame, 50).has_value());
  CHECK(c.got[0].header.type == frame_type::notice);
}

TEST_CASE("frames come out whole however the stream is cut") {
  std::vector<std::byte> stream;
  const std::pair<std::size_t, std::size_t> sizes[] = {
      {0, 0}, {16, 0}, {0, 1}, {max_head_bytes, 77}, {20, 3000}, {0, max_payload_bytes}, {5, 5}};
  std::uint64_t n = 0;
  for (const auto& [head, payload] : sizes) {
    ++n;
    stream = stream + frame_of(header_of(n), seeded_bytes(head, n), seeded_bytes(payload, n));
  }
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 63U, 64U, 65U, 127U, 1000U, 16384U, 65536U}) {
    INFO("pieces of " << piece);
    cutter c;
    REQUIRE(c.feed(stream, piece).has_value());
    REQUIRE(c.got.size() == n);
    CHECK(c.assembler.partial_bytes() == 0);
    for (std::size_t i = 0; i < n; ++i) {
      CHECK(c.got[i].header.sequence == i + 1);
      CHECK(c.got[i].header.acknowledged == 0x0102030405060708);
      CHECK(c.got[i].header.granted == header_of(0).granted);
      CHECK(c.got[i].header.klass == traffic_class::collective);
      CHECK(c.got[i].head == seeded_bytes(sizes[i].first, i + 1));
      const auto& payload = c.got[i].payload.bytes;
      CHECK(std::vector<std::byte>(payload.begin(), payload.end()) == seeded_bytes(sizes[i].second, i + 1));
    }
    c.got.clear();
    CHECK(c.buffers.lent() == 0);
    CHECK(c.frames.lent() == 0);
  }
}

TEST_CASE("a whole frame is lent where it lies") {
  cutter c;
  const auto one = frame_of(header_of(1), seeded_bytes(10, 1), seeded_bytes(100, 1));
  REQUIRE(c.feed(one + one, 65536).has_value());
  CHECK(c.frames.lent() == 0);
  CHECK(c.buffers.lent() == 1);
  CHECK(c.got[1].payload.bytes.data() - c.got[0].payload.bytes.data() ==
        static_cast<std::ptrdiff_t>(one.size()));
}

TEST_CASE("every altered byte is found as soon as it has arrived") {
  const auto good = frame_of(header_of(7), seeded_bytes(20, 1), seeded_bytes(50, 2));
  const auto after = frame_of(header_of(8));
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      auto bad = good;
      bad[at] ^= static_cast<std::byte>(flip);
      for (const std::size_t piece : {1U, 50U, 4096U}) {
        INFO("byte " << at << " flip " << flip << " pieces of " << piece);
        cutter c;
        // The search for the frame needs no byte beyond it.
        const auto s = c.feed(bad, piece);
        REQUIRE_FALSE(s.has_value());
        CHECK((s.error() == errc::malformed || s.error() == errc::checksum_mismatch));
        CHECK(c.got.empty());
      }
    }
  }
}

TEST_CASE("sizes beyond the limits are refused by name, before their bytes come") {
  const auto altered = [](std::size_t head, std::uint32_t payload) {
    std::vector<std::byte> frame(frame_header_bytes + head);
    frame_header h = header_of(1);
    h.head_bytes = static_cast<std::uint16_t>(head);
    h.payload_bytes = payload;
    encode_frame_header(frame, h);
    frame.resize(frame_header_bytes);
    return frame;
  };
  cutter c;
  auto s = c.feed(altered(0, 0xffffffff), 64);
  REQUIRE_FALSE(s.has_value());
  CHECK(s.error() == errc::too_large);
  CHECK_THAT(std::string(s.error().text()), Catch::Contains("4294967295") && Catch::Contains("32768"));
  cutter d;
  s = d.feed(altered(513, 0), 1);
  REQUIRE_FALSE(s.has_value());
  CHECK(s.error() == errc::too_large);
  CHECK_THAT(std::string(s.error().text()), Catch::Contains("513") && Catch::Contains("512"));
  cutter e;
  CHECK(e.feed(altered(512, 32768), 64).has_value());
  CHECK(e.assembler.partial_bytes() == 64);
}

TEST_CASE("unknown types and classes are malformed") {
  for (const auto& [type, klass] :
       {std::pair{0, 0}, {15, 0}, {18, 0}, {255, 0}, {4, 4}, {4, 255}, {16, 1}, {16, 4}}) {
    frame_header h = header_of(1);
    h.type = static_cast<frame_type>(type);
    h.klass = static_cast<traffic_class>(klass);
    cutter c;
    CHECK(c.feed(frame_of(h), 64).error() == errc::malformed);
  }
}

TEST_CASE("a split frame needs a buffer") {
  cutter c;
  std::vector<buffer_ref> all;
  while (buffer_ref s = c.frames.try_acquire()) all.push_back(s);
  const auto frame = frame_of(header_of(1), {}, seeded_bytes(10, 1));
  CHECK(c.feed(frame, 4096).has_value());
  CHECK(c.feed(frame, 20).error() == errc::busy);
}

TEST_CASE("a message is ready to be sent as it comes from its pool") {
  message_pool pool;
  message& m = pool.acquire();
  m.header().type = frame_type::request;
  const frame_parts parts = m.parts();
  std::vector<std::byte> stream(parts.head.begin(), parts.head.end());
  cutter c;
  REQUIRE(c.feed(stream, 4096).has_value());
  REQUIRE(c.got.size() == 1);
  CHECK(c.got[0].head.size() == message::envelope_bytes);
  CHECK(c.got[0].payload.bytes.empty());
  c.got.clear();
  pool.release(m);
  CHECK(pool.in_use() == 0);
}

TEST_CASE("the greeting has the bytes that docs/wire.md says") {
  static_assert(wire::fixed_size<hello> == 48);
  hello opening;
  opening.lane = 1;
  std::array<std::byte, 48> bytes{};
  REQUIRE(wire::encode_to(bytes, opening).value() == 48);
  CHECK(bytes[0] == std::byte{4});  // the version, and the lowest one
  CHECK(bytes[2] == std::byte{4});
  CHECK(bytes[4] == std::byte{0});  // no security
  CHECK(bytes[5] == std::byte{1});

  identity said;
  said.flags = identity_flags::client;
  said.node = 0x0807060504030201;
  said.attempt = 7;
  said.received = 9;
  said.window = {1, 2, 3, 4};
  said.rails.push_back({.address = "a:1"});
  said.cluster = "xy";
  std::array<std::byte, 512> encoded{};
  const auto size = wire::encode_to(encoded, said);
  REQUIRE(size.value() == 150 + 4 + (8 + 4 + 3) + (4 + 2));
  CHECK(encoded[3] == std::byte{2});
  for (std::size_t i = 0; i < 8; ++i) CHECK(encoded[4 + i] == std::byte(i + 1));
  CHECK(encoded[52] == std::byte{7});
  CHECK(encoded[60] == std::byte{9});
  CHECK(encoded[102] == std::byte{1});
  CHECK(encoded[114] == std::byte{4});
  CHECK(encoded[150] == std::byte{1});  // one rail
  CHECK(encoded[166] == std::byte{'a'});
  CHECK(encoded[169] == std::byte{2});
  CHECK(encoded[173] == std::byte{'x'});

  refusal no;
  no.code = 7;
  no.node = 3;
  no.text = "no";
  REQUIRE(wire::encode_to(encoded, no).value() == 24 + 4 + 2);
  CHECK(encoded[8] == std::byte{3});
}

TEST_CASE("an identity with more than the limits is malformed") {
  std::array<std::byte, 2048> bytes{};
  identity said;
  SECTION("rails") {
    said.rails.resize(max_rails + 1);
  }
  SECTION("bytes of an address") {
    said.rails.push_back({.address = std::string(max_rail_address_bytes + 1, 'a')});
  }
  SECTION("bytes of a cluster's name") {
    said.cluster.assign(max_cluster_name_bytes + 1, 'c');
  }
  const auto size = wire::encode_to(bytes, said);
  REQUIRE(size.has_value());
  CHECK(wire::decode_from<identity>(std::span(bytes).first(*size)).error() == errc::malformed);
}

TEST_CASE("the rest of a large frame is received where the frame is collected") {
  constexpr std::size_t large = 16'384;
  for (const std::size_t size : {large, max_payload_bytes}) {
    const auto head = seeded_bytes(100, 1), payload = seeded_bytes(size, 2);
    auto frame = frame_of(header_of(1), head, payload);
    const bool altered = GENERATE(false, true);
    if (altered) frame.back() ^= std::byte{1};
    cutter c;
    CHECK(c.assembler.rest_of_large().empty());
    REQUIRE(c.feed(std::span(frame).first(frame_header_bytes - 1), 4096).has_value());
    CHECK(c.assembler.rest_of_large().empty());  // its size is not known yet
    REQUIRE(c.feed(std::span(frame).subspan(frame_header_bytes - 1, 301), 4096).has_value());
    std::size_t at = frame_header_bytes + 300;
    status said;
    while (at != frame.size() && said) {
      const std::span<std::byte> rest = c.assembler.rest_of_large();
      REQUIRE(rest.size() == frame.size() - at);
      const std::size_t n = std::min<std::size_t>(rest.size(), 5000);
      std::memcpy(rest.data(), frame.data() + at, n);
      at += n;
      said = c.assembler.collected(n, [&](frame_view& f) {
        c.got.push_back({f.header, {f.head.begin(), f.head.end()}, std::move(f.payload)});
        return true;
      });
    }
    CHECK(c.assembler.rest_of_large().empty());
    if (altered) {
      CHECK(said.error() == errc::checksum_mismatch);
      continue;
    }
    REQUIRE(c.got.size() == 1);
    CHECK(std::ranges::equal(c.got[0].head, head));
    CHECK(std::ranges::equal(c.got[0].payload.bytes, payload));
    CHECK(c.got[0].payload.owner.capacity() == max_frame_bytes);
  }
  cutter small;
  const auto frame = frame_of(header_of(1), seeded_bytes(10, 1), seeded_bytes(large - 1, 2));
  REQUIRE(small.feed(std::span(frame).first(200), 4096).has_value());
  CHECK(small.assembler.rest_of_large().empty());
}
