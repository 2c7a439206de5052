#include "scoll/collective/trace/record.hpp"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/limits.hpp"
#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/wire.hpp"

// The stamps of members, as they travel in answers.
using namespace scoll;
using namespace scoll::detail;
using scoll::test::hex;

namespace {

using record_bytes = std::vector<std::byte>;

trace_record stamped(std::uint32_t member, std::initializer_list<trace_record::exchange> children = {}) {
  trace_record r;
  r.member = member;
  r.answered = 300;
  r.prepared = 1;
  r.begun = 2;
  r.ended = 200;
  r.children = children;
  return r;
}

record_bytes block_of(std::uint32_t dropped, const std::vector<trace_record>& records) {
  record_bytes all(std::size_t{4} * trace_limit);
  put_block_head(std::span(all).first<trace_block::head_bytes>(), dropped);
  wire::writer out(std::span<std::byte>(all).subspan(trace_block::head_bytes));
  for (const trace_record& r : records) put_record(out, r);
  REQUIRE(out.ok());
  all.resize(trace_block::head_bytes + out.needed());
  return all;
}

/// The answer of member 1 of a chain of five.
result<trace_block> read(const record_bytes& block) {
  return read_block(block, any_tree::resolve(chain{}, 5).value(), 5, 1);
}

errc code_of(const record_bytes& block) {
  const auto r = read(block);
  return r ? errc::ok : r.error().code();
}

}  // namespace

TEST_CASE("stamps lie on the wire as documented", "[golden]") {
  CHECK(collective_head::trace == 256);
  CHECK(trace_limit == 8192);
  const trace_record leaf = stamped(2);
  //                              dropped     member answered prepared begun ended children
  CHECK(hex(block_of(0, {leaf})) ==
        "00000000"
        "02"
        "ac02"
        "02"
        "03"
        "c901"
        "00");
  trace_record inner = stamped(1, {{5, 250}, {6, trace_record::never}, {}});
  inner.ended = trace_record::never;
  //                                                       ended, children, then sent and answered of each
  CHECK(hex(block_of(258, {inner})) ==
        "02010000"
        "01"
        "ac02"
        "02"
        "03"
        "00"
        "03"
        "06"
        "fb01"
        "0700"
        "0000");
}

TEST_CASE("a record takes about 14 bytes and 6 for each child", "[trace]") {
  trace_record r;
  r.member = 700;
  r.answered = 1'900'000;
  r.prepared = 40'000;
  r.begun = 60'000;
  r.ended = 900'000;
  r.children = {{50'000, 700'000}, {50'000, 1'800'000}};
  CHECK(block_of(0, {r}).size() - trace_block::head_bytes <= 14 + 2 * 6 + 1);
}

TEST_CASE("a block gives its records back", "[trace]") {
  const std::vector<trace_record> records{stamped(1, {{1, 299}}), stamped(2, {{2, 298}}), stamped(3)};
  const record_bytes bytes = block_of(1, records);
  const auto block = read(bytes).value();
  CHECK(block.dropped == 1);
  REQUIRE(block.ends.size() == 3);
  CHECK(block.ends.back() == block.records.size());
  wire::reader in(block.records);
  for (const trace_record& r : records) {
    trace_record again;
    REQUIRE(take_record(in, again));
    CHECK(again == r);
  }
  CHECK(in.remaining() == 0);
  CHECK(read(block_of(4, {})).value().dropped == 4);
}

TEST_CASE("a block that cannot be true is refused", "[trace]") {
  const trace_record first = stamped(1, {{1, 299}});
  SECTION("with a member of another subtree, or that does not exist") {
    CHECK(code_of(block_of(0, {stamped(0)})) == errc::malformed);
    CHECK(code_of(block_of(0, {stamped(2)})) == errc::malformed);
    CHECK(code_of(block_of(0, {first, stamped(5)})) == errc::malformed);
    CHECK(code_of(block_of(0, {first, stamped(0)})) == errc::malformed);
  }
  SECTION("with a member twice, or before its parent") {
    CHECK(code_of(block_of(0, {first, first})) == errc::malformed);
    CHECK(code_of(block_of(0, {first, stamped(3), stamped(2)})) == errc::malformed);
  }
  SECTION("with more members or children than there are") {
    CHECK(code_of(block_of(5, {})) == errc::malformed);
    CHECK(code_of(block_of(4, {first})) == errc::malformed);
    CHECK(code_of(block_of(0, {stamped(1, {{1, 2}, {1, 2}})})) == errc::malformed);
  }
  SECTION("with stamps out of order") {
    trace_record r = first;
    r.ended = 1;
    CHECK(code_of(block_of(0, {r})) == errc::malformed);
    r = first;
    r.prepared = trace_record::never;
    CHECK(code_of(block_of(0, {r})) == errc::malformed);
    r = first;
    r.answered = 199;
    CHECK(code_of(block_of(0, {r})) == errc::malformed);
    r = first;
    r.children[0] = {299, 298};
    CHECK(code_of(block_of(0, {r})) == errc::malformed);
    r.children[0] = {trace_record::never, 298};
    CHECK(code_of(block_of(0, {r})) == errc::malformed);
    r = first;
    r.answered = trace_record::latest + 1;
    CHECK(code_of(block_of(0, {r})) == errc::malformed);
  }
  SECTION("cut anywhere but between two records") {
    const record_bytes whole = block_of(0, {first, stamped(2, {{1, 2}}), stamped(3)});
    const auto ends = read(whole).value().ends;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      record_bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
      const bool between =
          size == trace_block::head_bytes ||
          std::ranges::any_of(ends, [&](std::uint32_t end) { return size == trace_block::head_bytes + end; });
      CHECK(code_of(cut) == (between ? errc::ok : errc::malformed));
    }
  }
  SECTION("beyond the limit") {
    const auto flat_tree = any_tree::resolve(flat{}, 4000).value();
    record_bytes large = block_of(0, {stamped(1)});
    large.resize(trace_limit + 1);
    CHECK(read_block(large, flat_tree, 4000, 1).error() == errc::malformed);
  }
}
