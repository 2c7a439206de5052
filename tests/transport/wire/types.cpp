#include <algorithm>
#include <tuple>

#include "scoll/coro/random.hpp"
#include "support.hpp"

namespace {

namespace wire = scoll::wire;

enum class color : std::uint8_t { red, green };
enum class answer : bool { no, yes };
enum class checked_color : std::uint8_t { red, green };
constexpr bool wire_valid(checked_color value) {
  return value <= checked_color::green;
}

struct nothing {};

/// All fixed widths, no padding.
struct raw {
  std::uint64_t a;
  std::int32_t b;
  std::uint16_t c;
  color d;
  char e;
  std::array<std::uint16_t, 4> f;
  double g;
  friend constexpr bool operator==(const raw&, const raw&) = default;
};

/// The same fields, but described: never copied as a block.
struct described_raw {
  raw value;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(value.a, value.b, value.c, value.d, value.e, value.f, value.g);
  }
};

struct padded {
  std::uint8_t a;
  std::uint32_t b;
  friend constexpr bool operator==(const padded&, const padded&) = default;
};

struct with_flag {
  std::uint32_t a;
  bool b;
  std::array<std::uint8_t, 3> c;
};

struct with_checked_enum {
  std::uint32_t a;
  checked_color b;
  std::array<std::uint8_t, 3> c;
};

struct wide {
  std::uint8_t a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v;
  std::string w;
  std::optional<std::uint8_t> x;
  friend bool operator==(const wide&, const wide&) = default;
};

struct named {
  std::string name;
  std::uint16_t number;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(name, number);
  }
};

struct conditional {
  bool has_number;
  std::uint32_t number;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(has_number);
    if (has_number) archive(number);
  }
  friend bool operator==(const conditional&, const conditional&) = default;
};

struct conditional_with_minimum : conditional {
  static constexpr std::size_t wire_min_size = 1;
};

struct without_default {
  explicit without_default(std::uint32_t start) : number(start) {}
  std::uint32_t number;
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(number);
  }
};

struct self {
  std::string name;
  std::vector<self> children;
  std::optional<std::vector<self>> more;
};

struct holds_pointer {
  std::vector<std::pair<int, std::optional<const char*>>> deep;
};

struct holds_array {
  std::uint32_t length;
  std::uint8_t name[8];
};

struct with_base : nothing {
  std::uint32_t a;
};

}  // namespace

static_assert(wire::encodable<raw> && wire::encodable<self> && wire::encodable<wide> &&
              wire::encodable<named>);
static_assert(!wire::encodable<holds_pointer> && !wire::encodable<with_base> &&
              !wire::encodable<holds_array>);
static_assert(!wire::encodable<std::string_view> && !wire::encodable<wchar_t> &&
              !wire::encodable<std::string*>);
static_assert(!wire::encodable<std::chrono::steady_clock::time_point> && !wire::encodable<long double>);

static_assert(wire::raw_copyable<raw> && wire::raw_copyable<std::uint64_t> && wire::raw_copyable<color>);
static_assert(wire::raw_copyable<std::array<raw, 3>> && wire::raw_copyable<std::byte>);
static_assert(!wire::raw_copyable<padded> && !wire::raw_copyable<bool> && !wire::raw_copyable<answer>);
static_assert(!wire::raw_copyable<with_flag> && !wire::raw_copyable<with_checked_enum>);
static_assert(!wire::raw_copyable<nothing> && !wire::raw_copyable<described_raw> &&
              !wire::raw_copyable<std::string>);

static_assert(wire::fixed_size<raw> == sizeof(raw) && wire::fixed_size<padded> == 5 &&
              wire::fixed_size<nothing> == 0);
static_assert(wire::fixed_size<std::tuple<bool, padded, std::array<padded, 2>>> == 16);
static_assert(wire::max_encoded_size<raw> == sizeof(raw));
static_assert(wire::max_encoded_size<std::optional<std::uint32_t>> == 5 &&
              wire::max_encoded_size<wire::varint> == 10);
static_assert(wire::max_encoded_size<wire::versioned<padded, 1>> == 11);
static_assert(!wire::has_fixed_size<std::optional<bool>> &&
              !wire::has_fixed_size<wire::versioned<padded, 1>>);
static_assert(!wire::has_fixed_size<std::string> && !wire::has_fixed_size<named> &&
              !wire::has_fixed_size<self>);

static_assert(wire::min_wire_size<self> == 9 && wire::min_wire_size<named> == 6);
static_assert(wire::min_wire_size<without_default> == 4 && wire::max_encoded_size<without_default> == 4);
static_assert(wire::min_wire_size<conditional> == 0 && wire::min_wire_size<conditional_with_minimum> == 1);
static_assert(wire::min_wire_size<std::array<std::string, 1'000'000>> == 4'000'000);
static_assert(
    wire::min_wire_size<std::array<std::array<std::uint64_t, std::size_t{1} << 40>, std::size_t{1} << 21>> ==
    wire::unbounded);

namespace {

constexpr raw sample = {0x0102030405060708, -2, 0x1122, color::green, 'x', {1, 2, 3, 4}, 0.5};

constexpr auto encoded_at_compile_time = [] {
  std::array<std::byte, wire::fixed_size<raw>> data{};
  wire::writer out(data);
  wire::encode(out, sample);
  return data;
}();

constexpr bool round_trip_at_compile_time() {
  std::array<std::byte, 64> data{};
  wire::writer out(data);
  wire::encode(out, std::vector<wire::varint>{{1}, {1000}});
  wire::encode(out, std::optional<std::uint16_t>{7});
  wire::encode(out, wire::varint{300});
  wire::encode(out, wire::versioned<padded, 2>{{5, 6}});
  wire::reader in(out.written());
  std::vector<wire::varint> vector;
  std::optional<std::uint16_t> optional;
  wire::varint varint;
  wire::versioned<padded, 2> versioned;
  wire::decode(in, vector);
  wire::decode(in, optional);
  wire::decode(in, varint);
  wire::decode(in, versioned);
  in.finish();
  return in.ok() && vector == std::vector<wire::varint>{{1}, {1000}} && optional == 7 &&
         varint.value == 300 && versioned.value == padded{5, 6};
}
static_assert(round_trip_at_compile_time());

constexpr bool a_bad_flag_stops_a_constant_decode() {
  const std::array<std::byte, 1> data{std::byte{2}};
  wire::reader in(data);
  bool value = false;
  return !wire::decode(in, value);
}
static_assert(a_bad_flag_stops_a_constant_decode());

raw random_raw(scoll::random_generator& random) {
  raw value{};
  value.a = random.next();
  value.b = static_cast<std::int32_t>(random.next());
  value.c = static_cast<std::uint16_t>(random.next());
  value.d = static_cast<color>(random.next() & 0xff);
  value.e = static_cast<char>(random.next());
  for (auto& element : value.f) element = static_cast<std::uint16_t>(random.next());
  value.g = static_cast<double>(random.next()) / 3.0;
  return value;
}

}  // namespace

TEST_CASE("copying a struct as a block gives the bytes of its members") {
  // In a constant expression there is no block copy, and integers are stored byte by byte as on a big-endian
  // host.
  CHECK(hex(encoded(sample)) == hex(encoded_at_compile_time));
  scoll::random_generator random(1);
  for (int i = 0; i < 1000; ++i) {
    const raw value = random_raw(random);
    const bytes data = encoded(value);
    CHECK(data == encoded(described_raw{value}));
    CHECK(wire::decode_from<raw>(data).value() == value);
    CHECK(wire::decode_from<described_raw>(data).value().value == value);
  }
}

TEST_CASE("vectors of structs copied as a block") {
  scoll::random_generator random(2);
  std::vector<raw> values;
  std::vector<described_raw> described;
  for (int i = 0; i < 100; ++i) {
    values.push_back(random_raw(random));
    described.push_back({values.back()});
    const bytes data = encoded(values);
    CHECK(data == encoded(described));
    CHECK(wire::decode_from<std::vector<raw>>(data).value() == values);
  }
}

TEST_CASE("stores byte by byte agree with the host's") {
  scoll::random_generator random(3);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = random.next();
    std::array<std::byte, 8> fast{};
    std::array<std::byte, 8> slow{};
    wire::detail::store_little(fast.data(), value);
    wire::detail::store_bytewise(slow.data(), value);
    CHECK(fast == slow);
    CHECK(wire::detail::load_bytewise<std::uint64_t>(fast.data()) == value);
    CHECK(wire::detail::load_little<std::uint32_t>(fast.data()) == static_cast<std::uint32_t>(value));
  }
}

TEST_CASE("a struct with the largest number of members") {
  wide value{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, "w", 24};
  check_bytes(value, "0102030405060708090a0b0c0d0e0f10111213141516 01000000 77 01 18");
}

TEST_CASE("a description may depend on values") {
  check_bytes(conditional{false, 0}, "00");
  check_bytes(conditional{true, 5}, "01 05000000");
  check_bytes(std::vector<conditional>{{true, 5}, {false, 0}}, "02000000 01 05000000 00");
}

TEST_CASE("decoding over a value keeps what it has allocated") {
  struct message {
    counted_string text;
    counted_vector<std::uint32_t> numbers;
    counted_vector<counted_string> texts;
  };
  const message sent{counted_string(100, 'x'), {1, 2, 3}, {counted_string(50, 'y'), counted_string(60, 'z')}};
  const bytes data = encoded(sent);
  message value;
  for (int i = 0; i < 3; ++i) {
    allocation_count::reset();
    wire::reader in(data);
    REQUIRE(wire::decode(in, value));
    CHECK(allocation_count::calls == (i == 0 ? 5 : 0));
    CHECK(value.texts == sent.texts);
  }
}

TEST_CASE("values that the type refuses are malformed") {
  CHECK(wire::decode_from<checked_color>(from_hex("01")).value() == checked_color::green);
  CHECK(defect_of_hex<checked_color>("02") == "value out of range before offset 1");
  CHECK(defect_of_hex<with_checked_enum>("00000000 02 000000") == "value out of range before offset 5");
  CHECK(defect_of_hex<std::vector<checked_color>>("02000000 01 02") == "value out of range before offset 6");
  CHECK(wire::decode_from<color>(from_hex("02")).has_value());
}

TEST_CASE("a writer that is too small tells the size needed and writes nothing outside") {
  const std::tuple<std::string, std::vector<std::string>, raw, std::optional<padded>, wire::varint,
                   wire::versioned<std::string, 2>, std::vector<padded>>
      value{"text", {"a", "bc"}, sample, padded{1, 2}, {1000}, {"v"}, {{3, 4}}};
  const bytes whole = encoded(value);
  for (std::size_t room = 0; room < whole.size(); ++room) {
    bytes place(whole.size() + 16, std::byte{0xee});
    wire::writer out({place.data(), room});
    CHECK_FALSE(wire::encode(out, value));
    CHECK(out.needed() == whole.size());
    CHECK(out.written().empty());
    CHECK(std::ranges::count(std::span(place).subspan(room), std::byte{0xee}) ==
          static_cast<std::ptrdiff_t>(place.size() - room));

    const auto size = wire::encode_to(std::span(place).first(room), value);
    REQUIRE_FALSE(size.has_value());
    CHECK(size.error() == scoll::errc::too_large);
    CHECK(size.error().detail() == static_cast<std::int32_t>(whole.size()));
    CHECK(std::string(size.error().text()) ==
          std::to_string(whole.size()) + " bytes needed, room for " + std::to_string(room));
  }
}

TEST_CASE("a writer stays full, and appends while it has room") {
  std::array<std::byte, 8> place{};
  wire::writer out(place);
  CHECK(wire::encode(out, std::uint32_t{1}));
  CHECK(out.written().size() == 4);
  CHECK_FALSE(wire::encode(out, std::uint64_t{2}));
  CHECK_FALSE(wire::encode(out, std::uint8_t{3}));
  CHECK(out.needed() == 13);
}
