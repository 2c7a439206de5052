#include "support.hpp"

namespace {

namespace wire = scoll::wire;

struct first {
  static constexpr std::uint16_t wire_version = 1;
  std::uint32_t a;
  friend bool operator==(const first&, const first&) = default;
};

struct second {
  static constexpr std::uint16_t wire_version = 2;
  std::uint32_t a;
  std::string b;
};

/// A struct that knows the layout of its first version.
struct tolerant {
  static constexpr std::uint16_t wire_version = 2;
  std::uint32_t a = 0;
  std::string b = "default";
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(a);
    if (archive.version() >= 2) archive(b);
  }
  friend bool operator==(const tolerant&, const tolerant&) = default;
};

/// The same for a type that is versioned from outside.
struct plain {
  std::uint32_t a = 0;
  std::uint16_t b = 9;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(a);
    if (archive.version() >= 5) archive(b);
  }
  friend bool operator==(const plain&, const plain&) = default;
};

struct outer {
  static constexpr std::uint16_t wire_version = 4;
  second inner;
  std::uint16_t seen = 0;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(inner);
    std::uint16_t version = archive.version();
    if constexpr (Archive::decoding) seen = version;
    archive(version);
  }
};

template <class T>
using between = std::tuple<std::uint8_t, T, std::uint8_t>;

}  // namespace

TEST_CASE("a newer sender's extra fields are skipped") {
  const bytes data = encoded(between<second>{1, {7, "new"}, 2});
  const auto value = wire::decode_from<between<first>>(data);
  REQUIRE(value.has_value());
  CHECK(*value == between<first>{1, {7}, 2});

  const auto several =
      wire::decode_from<std::vector<first>>(encoded(std::vector<second>{{1, "x"}, {2, "yy"}}));
  REQUIRE(several.has_value());
  CHECK(*several == std::vector<first>{{1}, {2}});
}

TEST_CASE("a newer sender that sends less than is known is malformed") {
  CHECK(defect_of_hex<first>("0200 03000000 010203") == "integer of 4 bytes, 3 left at offset 6");
}

TEST_CASE("an older sender's missing fields are malformed unless the description expects them") {
  const bytes old = encoded(first{7});
  CHECK(defect_of<second>(old) == "length of 4 bytes, 0 left at offset 10");
  CHECK(wire::decode_from<tolerant>(old).value() == tolerant{7, "default"});
  CHECK(wire::decode_from<tolerant>(encoded(second{7, "b"})).value() == tolerant{7, "b"});
  CHECK(encoded(tolerant{7, "b"}) == encoded(second{7, "b"}));
}

TEST_CASE("bytes left over in the same or an older version are malformed") {
  CHECK(defect_of_hex<first>("0100 05000000 01000000 ff") == "1 bytes left over at offset 10");
  CHECK(defect_of_hex<second>("0100 0a000000 01000000 00000000 ffff") == "2 bytes left over at offset 14");
  CHECK(defect_of_hex<second>("0200 0a000000 01000000 00000000 ffff") == "2 bytes left over at offset 14");
  CHECK(defect_of_hex<second>("0300 0a000000 01000000 00000000 ffff").empty());
}

TEST_CASE("a versioned struct stays within its length and its message") {
  CHECK(defect_of_hex<first>("0100 05000000 01000000") == "versioned struct of 5 bytes, 4 left at offset 6");
  CHECK(defect_of_hex<first>("0100 ffffffff 01000000") ==
        "versioned struct of 4294967295 bytes, 4 left at offset 6");
  CHECK(defect_of_hex<first>("0000 04000000 01000000") == "version is 0 at offset 2");
  CHECK(defect_of_hex<first>("01") == "version of 2 bytes, 1 left at offset 0");
  // The string's length reaches into the bytes after the struct.
  CHECK(defect_of_hex<between<second>>("01 0200 08000000 01000000 01000000 02") ==
        "string of 1 bytes, 0 left at offset 15");
}

TEST_CASE("a description sees the version of the innermost versioned struct") {
  const auto value = wire::decode_from<outer>(encoded(outer{{1, "x"}, 0}));
  REQUIRE(value.has_value());
  CHECK(value->seen == 4);

  CHECK(hex(encoded(plain{1, 2})) == "01000000");
  CHECK(hex(encoded(wire::versioned<plain, 5>{{1, 2}})) ==
        "0500060000000100"
        "00000200");
  const auto old = wire::decode_from<wire::versioned<plain, 5>>(encoded(wire::versioned<plain, 4>{{1, 2}}));
  REQUIRE(old.has_value());
  CHECK(old->value == plain{1, 9});
}
