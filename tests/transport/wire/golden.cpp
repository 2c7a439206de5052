#include <cmath>
#include <ratio>

#include "support.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace {

namespace wire = scoll::wire;

enum class color : std::uint8_t { red, green, blue };
enum class mode : std::int16_t { off = 0, odd = -2 };
enum class flag : bool { no, yes };

struct nothing {
  friend bool operator==(const nothing&, const nothing&) = default;
};

struct point {
  std::int32_t x;
  std::int32_t y;
  friend bool operator==(const point&, const point&) = default;
};

/// The worked example of docs/wire.md.
struct scrub {
  std::uint64_t epoch;
  std::uint16_t pool;
  bool dry_run;
  std::string reason;
  std::vector<std::uint32_t> ranks;
  std::optional<std::int32_t> limit;
  friend bool operator==(const scrub&, const scrub&) = default;
};

/// A class with an invariant of its own describes itself.
class node_id {
 public:
  node_id() = default;
  explicit node_id(std::uint64_t number) : number_(number) {}
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(number_);
  }
  friend bool operator==(const node_id&, const node_id&) = default;

 private:
  std::uint64_t number_ = 0;
};

struct address {
  std::string host;
  std::uint16_t port;
  friend bool operator==(const address&, const address&) = default;
};

template <class Archive>
constexpr void scoll_describe(Archive& archive, address& value) {
  archive(value.port, value.host);
}

struct tree {
  std::uint8_t value;
  std::vector<tree> children;
  friend bool operator==(const tree&, const tree&) = default;
};

struct placement {
  static constexpr std::uint16_t wire_version = 3;
  std::uint32_t shard;
  std::string note;
  friend bool operator==(const placement&, const placement&) = default;
};

}  // namespace

TEST_CASE("integers, enums and flags have their declared width, lowest byte first") {
  check_bytes(std::uint8_t{0xab}, "ab");
  check_bytes(std::uint16_t{0x0102}, "0201");
  check_bytes(std::uint32_t{0x01020304}, "04030201");
  check_bytes(std::uint64_t{0x0102030405060708}, "0807060504030201");
  check_bytes(std::int8_t{-1}, "ff");
  check_bytes(std::int16_t{-2}, "feff");
  check_bytes(std::int32_t{-3}, "fdffffff");
  check_bytes(std::int64_t{-4}, "fcffffffffffffff");
  check_bytes(std::numeric_limits<std::int64_t>::min(), "0000000000000080");
  check_bytes('A', "41");
  check_bytes(std::byte{7}, "07");
  check_bytes(false, "00");
  check_bytes(true, "01");
  check_bytes(color::blue, "02");
  check_bytes(mode::odd, "feff");
  check_bytes(flag::yes, "01");
  check_bytes(std::chrono::nanoseconds{-1}, "ffffffffffffffff");
  check_bytes(std::chrono::duration<std::int64_t, std::ratio<60>>{2}, "0200000000000000");
}

TEST_CASE("floats are their IEEE bits") {
  check_bytes(1.0F, "0000803f");
  check_bytes(-2.5, "00000000000004c0");
  check_bytes(std::numeric_limits<double>::infinity(), "000000000000f07f");
  const auto signalling = std::bit_cast<double>(0xfff4'0000'0000'0123);
  const auto back = wire::decode_from<double>(encoded(signalling));
  REQUIRE(back.has_value());
  CHECK(std::isnan(*back));
  CHECK(std::bit_cast<std::uint64_t>(*back) == 0xfff4'0000'0000'0123);
}

TEST_CASE("strings and vectors start with a count of 32 bits") {
  check_bytes(std::string(), "00000000");
  check_bytes(std::string("abc"), "03000000 616263");
  check_bytes(std::string("a\0b", 3), "03000000 610062");
  check_bytes(std::vector<std::uint16_t>{1, 2}, "02000000 0100 0200");
  check_bytes(std::vector<std::uint8_t>{9, 8}, "02000000 09 08");
  check_bytes(bytes{std::byte{1}}, "01000000 01");
  check_bytes(std::vector<bool>{true, false, true}, "03000000 01 00 01");
  check_bytes(std::vector<std::string>{"a", ""}, "02000000 01000000 61 00000000");
  check_bytes(std::vector<point>{{1, -1}, {2, -2}}, "02000000 01000000 ffffffff 02000000 feffffff");
  check_bytes(std::vector<color>{color::blue}, "01000000 02");
  check_bytes(std::vector<std::vector<std::uint8_t>>{{1}, {}}, "02000000 01000000 01 00000000");
  check_bytes(std::vector<node_id>{node_id(1)}, "01000000 0100000000000000");
}

TEST_CASE("arrays, pairs, tuples and plain structs are their elements one after the other") {
  check_bytes(std::array<std::uint16_t, 2>{1, 2}, "0100 0200");
  check_bytes(std::array<bool, 2>{true, false}, "01 00");
  check_bytes(std::array<std::string, 2>{"a", "b"}, "01000000 61 01000000 62");
  check_bytes(std::array<std::uint8_t, 0>{}, "");
  check_bytes(std::pair<std::uint8_t, std::string>{1, "x"}, "01 01000000 78");
  check_bytes(std::tuple<std::uint8_t, bool, std::uint16_t>{1, true, 3}, "01 01 0300");
  check_bytes(std::tuple<>{}, "");
  check_bytes(nothing{}, "");
  check_bytes(std::vector<nothing>(3), "03000000");
  check_bytes(point{1, -1}, "01000000 ffffffff");
  check_bytes(std::pair<point, nothing>{{1, 2}, {}}, "01000000 02000000");
  check_bytes(tree{1, {{2, {}}, {3, {{4, {}}}}}}, "01 02000000  02 00000000  03 01000000  04 00000000");
}

TEST_CASE("optionals are a byte, 0 or 1, and the value") {
  check_bytes(std::optional<std::uint16_t>{}, "00");
  check_bytes(std::optional<std::uint16_t>{5}, "01 0500");
  check_bytes(std::optional<std::optional<bool>>{std::optional<bool>{}}, "01 00");
  check_bytes(std::optional<std::vector<std::uint8_t>>{{1}}, "01 01000000 01");
}

TEST_CASE("types that describe themselves") {
  check_bytes(node_id(0x0102), "0201000000000000");
  check_bytes(address{"h", 80}, "5000 01000000 68");
}

TEST_CASE("versioned structs carry version and length") {
  check_bytes(placement{1, "ab"}, "0300 0a000000  01000000 02000000 6162");
  check_bytes(wire::versioned<point, 1>{{1, 2}}, "0100 08000000  01000000 02000000");
  check_bytes(wire::versioned<nothing, 7>{}, "0700 00000000");
}

TEST_CASE("the worked example") {
  const std::string expected =
      "0700000000000000 0201 01 05000000 7363727562 02000000 01000000 02000000 01 ffffffff";
  check_bytes(scrub{7, 0x0102, true, "scrub", {1, 2}, -1}, expected);
}

TEST_CASE("varints are LEB128 in its shortest form") {
  check_bytes(wire::varint{0}, "00");
  check_bytes(wire::varint{127}, "7f");
  check_bytes(wire::varint{128}, "8001");
  check_bytes(wire::varint{300}, "ac02");
  check_bytes(wire::varint{std::numeric_limits<std::uint64_t>::max()}, "ffffffffffffffffff01");
  for (std::size_t bit = 0; bit < 64; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    for (const std::uint64_t value : {power - 1, power, power + 1}) {
      const bytes data = encoded(wire::varint{value});
      CHECK(data.size() == wire::varint_size(value));
      CHECK(wire::decode_from<wire::varint>(data).value() == wire::varint{value});
    }
  }
}

TEST_CASE("borrowed values have the bytes of owned ones and point into the message") {
  const bytes text = encoded(std::string("hello"));
  check_bytes(wire::borrowed_string{"hello"}, hex(text));
  const auto view = wire::decode_from<wire::borrowed_string>(text);
  REQUIRE(view.has_value());
  CHECK(static_cast<const void*>(view->view.data()) == text.data() + 4);

  const bytes blob = encoded(bytes{std::byte{1}, std::byte{2}});
  const auto span = wire::decode_from<wire::borrowed_bytes>(blob);
  REQUIRE(span.has_value());
  CHECK(span->view.data() == blob.data() + 4);
  check_bytes(*span, hex(blob));
}

TEST_CASE("the checksum is XXH3_64bits, and chains over parts") {
  CHECK(wire::checksum({}) == 0x2d06800538d394c2);
  bytes data;
  for (int i = 0; i < 1000; ++i) data.push_back(static_cast<std::byte>(i * 7));
  for (const std::size_t size : {1U, 16U, 200U, 241U, 1000U}) {
    CHECK(wire::checksum(std::span(data).first(size)) == XXH3_64bits(data.data(), size));
  }
  const auto head = std::span(data).first(40);
  const auto tail = std::span(data).subspan(40);
  const std::uint64_t both = wire::checksum(tail, wire::checksum(head));
  CHECK(both == wire::checksum(tail, wire::checksum(head)));
  CHECK(both != wire::checksum(tail));
  data[39] ^= std::byte{1};
  CHECK(both != wire::checksum(tail, wire::checksum(head)));
}
