#include "scoll/bulk/plan.hpp"

#include "scoll/bulk/pieces.hpp"
#include "tests/catch.hpp"

using namespace scoll;

namespace {

constexpr std::uint64_t operator""_KiB(unsigned long long n) {
  return n << 10U;
}
constexpr std::uint64_t operator""_GiB(unsigned long long n) {
  return n << 30U;
}

std::array<std::byte, bulk_plan_bytes> encoded(const bulk_plan& plan) {
  std::array<std::byte, bulk_plan_bytes> bytes{};
  encode_bulk_plan(plan, bytes);
  return bytes;
}

static_assert(bulk_plan::binary() == bulk_plan::kary(2));
static_assert(check_bulk_plan(bulk_plan::circulant()) == bulk_plan_fault::none);
static_assert(bulk_pieces::divide(100'000, 65'536)->count() == 2);
static_assert(bulk_pieces::divide(100'000, 65'536)->size(1) == 34'464);

}  // namespace

TEST_CASE("any two bytes are a plan that survives its text and its code, or are refused", "[bulk][plan]") {
  std::size_t plans = 0;
  for (unsigned kind = 0; kind < 256; ++kind) {
    for (unsigned radix = 0; radix < 256; ++radix) {
      const std::array bytes{static_cast<std::byte>(kind), static_cast<std::byte>(radix)};
      const bulk_plan plan = decode_bulk_plan(bytes);
      const bool valid = check_bulk_plan(plan) == bulk_plan_fault::none;
      plans += valid ? 1 : 0;
      const auto parsed = parse_bulk_plan(to_string(plan));
      if (encoded(plan) != bytes || parsed.has_value() != valid || (valid && *parsed != plan)) {
        FAIL("kind " << kind << ", radix " << radix);
      }
    }
  }
  CHECK(plans == 3 + 2 * 254);
}

TEST_CASE("plans have the texts and the numbers that people and peers know", "[bulk][plan]") {
  CHECK(to_string(bulk_plan{}) == "whole");
  CHECK(to_string(bulk_plan::chain()) == "chain");
  CHECK(to_string(bulk_plan::binary()) == "kary:2");
  CHECK(to_string(bulk_plan::knomial(255)) == "knomial:255");
  CHECK(to_string(bulk_plan::circulant()) == "circulant");
  CHECK(to_string(bulk_plan::unchecked(5, 7)) == "5:7");
  CHECK(encoded(bulk_plan::whole()) == std::array{std::byte{0}, std::byte{0}});
  CHECK(encoded(bulk_plan::chain()) == std::array{std::byte{1}, std::byte{0}});
  CHECK(encoded(bulk_plan::kary(8)) == std::array{std::byte{2}, std::byte{8}});
  CHECK(encoded(bulk_plan::knomial(4)) == std::array{std::byte{3}, std::byte{4}});
  CHECK(encoded(bulk_plan::circulant()) == std::array{std::byte{4}, std::byte{0}});
}

TEST_CASE("texts that do not name a plan are refused", "[bulk][plan]") {
  const auto text =
      GENERATE("", "tree", "kary", "kary:", "kary:1", "kary:256", "kary:2,0", "kary:-2", "kary: 2", "chain:1",
               "chain:0", "chain:", "whole ", "Whole", "circulant:2", "2");
  CAPTURE(text);
  CHECK_FALSE(parse_bulk_plan(text));
}

TEST_CASE("faults of plans are told apart", "[bulk][plan]") {
  CHECK(check_bulk_plan(bulk_plan::unchecked(5, 0)) == bulk_plan_fault::unknown_kind);
  CHECK(check_bulk_plan(bulk_plan::kary(1)) == bulk_plan_fault::bad_radix);
  CHECK(check_bulk_plan(bulk_plan::unchecked(0, 1)) == bulk_plan_fault::bad_radix);
  CHECK(std::string_view(describe(bulk_plan_fault::bad_radix)) !=
        std::string_view(describe(bulk_plan_fault::unknown_kind)));
}

TEST_CASE("pieces cover an object without gaps", "[bulk][pieces]") {
  const std::uint64_t length = GENERATE(1_KiB, 64_KiB - 1, 64_KiB, 64_KiB + 1, 1000_KiB + 7, 4_GiB);
  for (std::uint32_t size = least_bulk_piece_bytes; size <= most_bulk_piece_bytes; size *= 2) {
    const auto pieces = bulk_pieces::divide(length, size).value();
    std::uint64_t end = 0;
    bool covered = true;
    for (std::uint32_t piece = 0; piece < pieces.count(); ++piece) {
      const bool last = piece + 1 == pieces.count();
      covered = covered && pieces.offset(piece) == end && (last || pieces.size(piece) == size);
      covered = covered && 0 < pieces.size(piece) && pieces.size(piece) <= size;
      end += pieces.size(piece);
    }
    CAPTURE(length, size);
    CHECK(covered);
    CHECK(end == length);
  }
}

TEST_CASE("an object of no bytes has no pieces", "[bulk][pieces]") {
  CHECK(bulk_pieces::divide(0, least_bulk_piece_bytes).value().count() == 0);
  CHECK(bulk_pieces{}.count() == 0);
}

TEST_CASE("objects have up to 65,536 pieces, of sizes that are powers of two in bounds", "[bulk][pieces]") {
  CHECK(bulk_pieces::divide(4_GiB, 65'536).value().count() == most_bulk_pieces);
  CHECK_FALSE(bulk_pieces::divide(4_GiB + 1, 65'536));
  CHECK(bulk_pieces::divide(4_GiB + 1, 131'072).value().count() == most_bulk_pieces / 2 + 1);
  CHECK(bulk_pieces::divide(64_GiB, 1U << 20U).value().count() == most_bulk_pieces);
  CHECK_FALSE(bulk_pieces::divide(64_GiB + 1, 1U << 20U));
  CHECK_FALSE(bulk_pieces::divide(1, 0));
  CHECK_FALSE(bulk_pieces::divide(1, 32'768));
  CHECK_FALSE(bulk_pieces::divide(1, 65'537));
  CHECK_FALSE(bulk_pieces::divide(1, 1U << 21U));
}
