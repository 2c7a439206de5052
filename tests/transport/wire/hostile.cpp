#include "scoll/coro/random.hpp"
#include "support.hpp"

namespace {

namespace wire = scoll::wire;

enum class color : std::uint8_t { red, green, blue };
constexpr bool wire_valid(color value) {
  return value <= color::blue;
}

struct nothing {};

struct tree {
  std::uint8_t value;
  std::vector<tree> children;
};

struct entry {
  std::uint64_t id;
  color paint;
  bool hot;
  counted_string name;
  friend bool operator==(const entry&, const entry&) = default;
};

struct message {
  std::uint32_t kind;
  counted_vector<entry> entries;
  std::optional<counted_string> note;
  counted_vector<counted_vector<std::uint16_t>> table;
  std::array<std::optional<color>, 3> paints;
  std::pair<wire::varint, bool> pair;
  std::chrono::nanoseconds left;
  wire::versioned<counted_vector<std::uint64_t>, 2> masks;
  counted_vector<std::byte> blob;
  double load;
  friend bool operator==(const message&, const message&) = default;
};

message sample() {
  message value;
  value.kind = 9;
  value.entries = {{1, color::red, true, "first"}, {2, color::blue, false, counted_string(40, 'n')}};
  value.note = "a note that is longer than a short string";
  value.table = {{1, 2, 3}, {}, {4}};
  value.paints = {color::green, std::nullopt, color::red};
  value.pair = {{100'000}, true};
  value.left = std::chrono::milliseconds(5);
  value.masks.value = {1, 2};
  value.blob.resize(20);
  value.load = 0.25;
  return value;
}

/// The largest memory that decoding `size` bytes may request: a vector of vectors has the largest objects for
/// its bytes.
std::size_t allocation_limit(std::size_t size) {
  return size * sizeof(entry);
}

bytes nested(std::size_t levels) {
  bytes data;
  for (std::size_t i = 0; i < levels; ++i) {
    const bytes level = from_hex(i + 1 < levels ? "01 01000000" : "01 00000000");
    data.insert(data.end(), level.begin(), level.end());
  }
  return data;
}

}  // namespace

TEST_CASE("a message cut at any byte is malformed and allocates within its size") {
  const message sent = sample();
  const bytes data = encoded(sent);
  CHECK(wire::decode_from<message>(data).value() == sent);
  for (std::size_t size = 0; size < data.size(); ++size) {
    const bytes cut(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(size));
    allocation_count::reset();
    CHECK_FALSE(defect_of<message>(cut).empty());
    CHECK(allocation_count::bytes <= allocation_limit(size));
  }
}

TEST_CASE("altered bytes decode to something that encodes to them, or not at all") {
  const bytes data = encoded(sample());
  scoll::random_generator random(4);
  std::size_t decoded = 0;
  for (int round = 0; round < 20'000; ++round) {
    bytes altered = data;
    const std::uint64_t changes = 1 + random.below(3);
    for (std::uint64_t i = 0; i < changes; ++i) {
      altered[random.below(altered.size())] = static_cast<std::byte>(random.next());
    }
    if (random.chance(1, 4)) altered.resize(random.below(altered.size()));
    allocation_count::reset();
    const auto value = wire::decode_from<message>(altered);
    const std::size_t allocated = allocation_count::bytes;
    if (allocated > allocation_limit(data.size())) FAIL(allocated << " bytes for " << data.size());
    if (!value) {
      if (value.error() != scoll::errc::malformed || value.error().text().empty())
        FAIL("an error without words");
      continue;
    }
    ++decoded;
    // A newer version may end in bytes that are skipped; everything else has one encoding.
    if (wire::encoded_size(*value) == altered.size() && value->masks.value.size() == 2) {
      bytes again = encoded(*value);
      const auto twice = wire::decode_from<message>(again);
      if (!twice || encoded(*twice) != again) FAIL("not stable");
    }
  }
  CHECK(decoded > 1000);
}

TEST_CASE("lengths and counts are believed only as far as bytes are left") {
  allocation_count::reset();
  CHECK(defect_of_hex<counted_string>("ffffffff") == "string of 4294967295 bytes, 0 left at offset 4");
  CHECK(
      defect_of_hex<std::pair<std::uint32_t, counted_string>>("00000000 ffffffff 6162636465666768696a6b6c") ==
      "string of 4294967295 bytes, 12 left at offset 8");
  CHECK(defect_of_hex<counted_vector<std::uint64_t>>("ffffffff 0000000000000000") ==
        "vector of 4294967295 elements of 8 bytes or more, 8 left at offset 4");
  CHECK(defect_of_hex<counted_vector<counted_string>>("03000000 00000000 00000000") ==
        "vector of 3 elements of 4 bytes or more, 8 left at offset 4");
  CHECK(defect_of_hex<counted_vector<entry>>("01000000 00000000") ==
        "vector of 1 elements of 14 bytes or more, 4 left at offset 4");
  CHECK(defect_of_hex<std::vector<bool>>("ffffff7f 00") ==
        "vector of 2147483647 elements of 1 bytes or more, 1 left at offset 4");
  CHECK(defect_of_hex<wire::borrowed_string>("02000000 61") == "string of 2 bytes, 1 left at offset 4");
  CHECK(defect_of_hex<wire::borrowed_bytes>("02000000 61") == "bytes of 2 bytes, 1 left at offset 4");
  CHECK(allocation_count::calls == 0);
}

TEST_CASE("defects say what was wrong and where") {
  CHECK(defect_of_hex<std::uint32_t>("0102") == "integer of 4 bytes, 2 left at offset 0");
  CHECK(defect_of_hex<double>("") == "floating-point number of 8 bytes, 0 left at offset 0");
  CHECK(defect_of_hex<std::string>("0102") == "length of 4 bytes, 2 left at offset 0");
  CHECK(defect_of_hex<entry>("0000000000000000 01 02 00000000") == "bool is 2 at offset 9");
  CHECK(defect_of_hex<std::optional<bool>>("02") == "optional tag is 2 at offset 0");
  CHECK(defect_of_hex<std::optional<bool>>("01 ff") == "bool is 255 at offset 1");
  CHECK(defect_of_hex<std::array<bool, 3>>("01 00 03") == "bool is 3 at offset 2");
  CHECK(defect_of_hex<std::vector<std::pair<bool, bool>>>("02000000 01 01 01 07") == "bool is 7 at offset 7");
  CHECK(defect_of_hex<std::array<std::uint8_t, 3>>("0100") == "array of 3 bytes, 2 left at offset 0");
}

TEST_CASE("the first defect stands, and nothing can be read behind it") {
  const bytes data = from_hex("02 01 01 01 01 01 01 01");
  wire::reader in(data);
  bool flag = false;
  CHECK_FALSE(wire::decode(in, flag));
  CHECK(in.remaining() == 0);
  std::uint8_t byte = 7;
  CHECK_FALSE(wire::decode(in, byte));
  nothing empty;
  CHECK_FALSE(wire::decode(in, empty));
  in.finish();
  CHECK(std::string(in.error().text()) == "bool is 2 at offset 0");
}

TEST_CASE("varints in any but the shortest form are malformed") {
  CHECK(defect_of_hex<wire::varint>("8000") == "last byte of a varint is 0 at offset 1");
  CHECK(defect_of_hex<wire::varint>("ffffffffffffffffff02") == "last byte of a varint is 2 at offset 9");
  CHECK(defect_of_hex<wire::varint>("ffffffffffffffffffff01") == "last byte of a varint is 255 at offset 9");
  CHECK(defect_of_hex<wire::varint>("ff") == "varint of 1 bytes, 0 left at offset 1");
  CHECK(defect_of_hex<wire::varint>("") == "varint of 1 bytes, 0 left at offset 0");
}

TEST_CASE("nesting is bounded in both directions") {
  CHECK(wire::decode_from<tree>(nested(wire::max_depth)).has_value());
  CHECK(defect_of<tree>(nested(wire::max_depth + 1)) == "nested deeper than 64 at offset 325");
  CHECK(defect_of<tree>(nested(100'000)) == "nested deeper than 64 at offset 325");

  tree deep{1, {}};
  for (std::size_t i = 1; i < wire::max_depth; ++i) {
    tree above{1, {}};
    above.children.push_back(std::move(deep));
    deep = std::move(above);
  }
  CHECK(encoded(deep) == nested(wire::max_depth));
  tree deeper{1, {}};
  deeper.children.push_back(std::move(deep));
  bytes place(1000);
  const auto size = wire::encode_to(place, deeper);
  REQUIRE_FALSE(size.has_value());
  CHECK(size.error() == scoll::errc::invalid_argument);
  CHECK(std::string(size.error().text()) == "nested deeper than 64");
}

TEST_CASE("elements without bytes are few") {
  CHECK(encoded(std::vector<nothing>(wire::max_weightless_elements)) == from_hex("00000100"));
  CHECK(wire::decode_from<std::vector<nothing>>(from_hex("00000100")).value().size() == 65'536);
  CHECK(defect_of_hex<std::vector<nothing>>("01000100") ==
        "vector of 65537 elements without bytes at offset 4");
  CHECK(defect_of_hex<std::vector<nothing>>("ffffffff") ==
        "vector of 4294967295 elements without bytes at offset 4");
  // One limit holds for the whole message, so nesting does not multiply it.
  CHECK(defect_of_hex<std::vector<std::vector<nothing>>>("02000000 00000100 01000000") ==
        "vector of 1 elements without bytes at offset 12");

  bytes place(16);
  const auto size = wire::encode_to(place, std::vector<nothing>(wire::max_weightless_elements + 1));
  REQUIRE_FALSE(size.has_value());
  CHECK(size.error() == scoll::errc::too_large);
  CHECK(std::string(size.error().text()) == "more than 65536 elements without bytes");
}
