#include "scoll/collective/creation_section.hpp"

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"
#include "transport/wire/wire.hpp"

using namespace scoll;
using namespace scoll::detail;
using scoll::test::hex;

namespace {

membership_ptr three() {
  return membership::make({{1, {}}, {2, {{7, 8}}}, {3, {}}}).value();
}

group_id outer_group() {
  group_id id{5, 6, 7, {}};
  id.digest.fill(std::byte{0xab});
  return id;
}

creation_terms every_term() {
  creation_terms terms;
  terms.ends_with = lifetime::members;
  terms.within = outer_group();
  terms.name = "layout";
  return terms;
}

transport::region_descriptor somewhere() {
  transport::region_descriptor d;
  d.node = 2;
  d.incarnation = 3;
  d.generation = 4;
  d.length = 800'000;
  d.region = 5;
  return d;
}

template <class Members>
std::vector<std::byte> encoded(const creation_terms& terms, const Members& members) {
  std::vector<std::byte> bytes(1024);
  bytes.resize(encode_creation(terms, members, bytes).value());
  return bytes;
}

std::string digest_of_outer() {
  std::string text;
  for (int i = 0; i < 32; ++i) text += "ab";
  return text;
}

}  // namespace

TEST_CASE("a creation with its members lies on the wire as documented", "[golden]") {
  const std::string members =
      "03"
      "0200"
      "0201"
      "0700000000000000"
      "0800000000000000"
      "0200";
  REQUIRE(hex(encoded(creation_terms{}, *three())) == "00000000" + members);
  REQUIRE(hex(encoded(every_term(), *three())) ==
          "000101"
          "050000000000000006000000000000000700000000000000" +
              digest_of_outer() + "066c61796f7574" + members);
  creation_terms terms;
  terms.inline_only = true;
  REQUIRE(hex(encoded(terms, *three())) == "02000000" + members);
}

TEST_CASE("a creation by descriptor lies on the wire as documented", "[golden]") {
  creation_terms terms;
  terms.name = "a";
  REQUIRE(hex(encoded(terms, somewhere())) ==
          "0100000161"
          "0200000000000000"
          "0300000000000000"
          "0400000000000000"
          "00350c0000000000"
          "05000000"
          "01"
          "00");
}

TEST_CASE("a creation is read as it was written") {
  for (const creation_terms& terms : {creation_terms{}, every_term()}) {
    const auto here = decode_creation(encoded(terms, *three())).value();
    CHECK(here.terms == terms);
    CHECK_FALSE(here.elsewhere.has_value());
    CHECK(membership::make(here.targets).value()->digest() == three()->digest());
    const auto there = decode_creation(encoded(terms, somewhere())).value();
    CHECK(there.terms == terms);
    CHECK(there.elsewhere == somewhere());
    CHECK(there.targets.empty());
    CHECK(creation_bytes(terms, *three()) == encoded(terms, *three()).size());
    CHECK(descriptor_creation_bytes(terms) == encoded(terms, somewhere()).size());
  }
  creation_terms terms;
  terms.inline_only = true;
  CHECK(decode_creation(encoded(terms, *three())).value().terms.inline_only);
}

TEST_CASE("a creation that does not fit says how large it is") {
  std::array<std::byte, 10> small;
  const auto refused = encode_creation(creation_terms{}, *three(), small);
  REQUIRE(refused.error() == errc::too_large);
  REQUIRE(refused.error().text() == "the creation of a group takes 27 bytes: 10 are left");
  creation_terms longest = every_term();
  longest.name = std::string(group_name::most_bytes, 'n');
  REQUIRE(encoded(longest, somewhere()).size() == max_descriptor_creation_bytes);
}

TEST_CASE("a creation that ends early, or goes on, is malformed", "[hostile]") {
  for (const auto& whole : {encoded(every_term(), *three()), encoded(every_term(), somewhere())}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      INFO(size);
      REQUIRE(decode_creation(std::span(whole).first(size)).error() == errc::malformed);
    }
    auto longer = whole;
    longer.push_back(std::byte{0});
    REQUIRE(decode_creation(longer).error() == errc::malformed);
  }
}

TEST_CASE("a creation with a byte that means nothing is malformed", "[hostile]") {
  const auto refused = [](std::size_t offset, unsigned value) {
    auto bytes = encoded(every_term(), *three());
    bytes[offset] = static_cast<std::byte>(value);
    return decode_creation(bytes).error();
  };
  CHECK(refused(0, 3).text() == "a creation of form 3");
  CHECK(refused(1, 2).text() == "a creation with lifetime 2");
  CHECK(refused(2, 2).text() == "a creation within 2 groups");
  constexpr std::size_t name_size = 3 + sizeof(group_id);
  CHECK(refused(name_size, 33) == errc::malformed);
  CHECK(refused(name_size, 255) == errc::malformed);
  CHECK(refused(name_size + 1, '\n').text() == "a group with a name of 6 bytes");
  CHECK(refused(name_size + 1, 0x7f) == errc::malformed);
  CHECK(refused(name_size + 7, 0) == errc::malformed);  // no members
}

TEST_CASE("the name of a group is short and can be printed") {
  CHECK(group_name("layout").text() == "layout");
  CHECK(group_name("").empty());
  CHECK(group_name("").valid());
  const std::string longest(32, 'x');
  CHECK(group_name(longest).text() == longest);
  CHECK_FALSE(group_name(longest + "x").valid());
  CHECK(group_name(longest + "x").empty());
  CHECK_FALSE(group_name("two\nlines").valid());
  CHECK(group_name("gr\xc3\xb6\xc3\x9f"
                   "e")
            .valid());
  static_assert(std::is_trivially_copyable_v<group_name>);
}
