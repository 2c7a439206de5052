#include "scoll/collective/operation/values.hpp"

#include <cstdint>
#include <vector>

#include "scoll/collective/service.hpp"
#include "tests/catch.hpp"
#include "transport/wire/wire.hpp"

namespace {

struct tally {
  static constexpr scoll::service_id id{0x0100};
  using request = std::vector<std::uint32_t>;
  using reply = std::vector<std::uint32_t>;
  static reply execute(const request&, scoll::bcast_context&) { return {}; }
  static void merge(reply& into, const reply& from) noexcept {
    into.insert(into.end(), from.begin(), from.end());
  }
};

std::vector<std::byte> encoded(const std::vector<std::uint32_t>& value) {
  std::vector<std::byte> bytes(256);
  bytes.resize(scoll::wire::encode_to(std::span(bytes), value).value());
  return bytes;
}

using scoll::detail::operation_values;
using numbers = std::vector<std::uint32_t>;

const numbers& as_numbers(const void* value) {
  return *static_cast<const numbers*>(value);
}

operation_values& begin(operation_values& values) {
  values.use(scoll::detail::table_of<tally>);
  return values;
}

}  // namespace

TEST_CASE("the first value that is merged becomes the reply, later ones are merged into it", "[values]") {
  operation_values values;
  begin(values);
  REQUIRE(values.add_arrived(encoded({1})).has_value());
  values.merge_arrived();
  CHECK(values.arrived() == nullptr);
  REQUIRE(values.add_arrived(encoded({2, 3})).has_value());
  values.merge_arrived();
  CHECK(as_numbers(values.merged()) == numbers{1, 2, 3});
  values.clear(false);
  CHECK(values.merged() == nullptr);
}

TEST_CASE("several values of one child are merged with each other before they are merged", "[values]") {
  operation_values values;
  begin(values);
  REQUIRE(values.add_arrived(encoded({4})).has_value());
  REQUIRE(values.add_arrived(encoded({5})).has_value());
  CHECK(as_numbers(values.arrived()) == numbers{4, 5});
  CHECK(values.merged() == nullptr);
  values.drop_arrived();
  values.merge_arrived();
  CHECK(values.merged() == nullptr);
}

TEST_CASE("the own reply is merged from where execute put it", "[values]") {
  operation_values values;
  begin(values);
  new (values.make_room_for_own()) numbers{7};
  values.merge_own();
  CHECK(as_numbers(values.merged()) == numbers{7});
  values.clear(true);  // it has moved away: nothing of it is destroyed twice
}

TEST_CASE("room that execute never filled is given back as it is", "[values]") {
  operation_values values;
  begin(values);
  values.make_room_for_own();
  values.clear(false);
  new (values.make_room_for_own()) numbers(1000, 1);
  values.clear(true);  // a leak would be reported by the sanitizer
  CHECK(values.merged() == nullptr);
}

TEST_CASE("bytes that do not decode leave no value", "[values]") {
  operation_values values;
  begin(values);
  auto bytes = encoded({1, 2});
  bytes.pop_back();
  CHECK_FALSE(values.add_arrived(bytes).has_value());
  CHECK(values.arrived() == nullptr);
  CHECK_FALSE(values.decode_request(bytes).has_value());
  CHECK(values.request() == nullptr);
}

TEST_CASE("a value that a hook still looks at can no longer be merged, and lives until the end", "[values]") {
  operation_values values;
  begin(values);
  REQUIRE(values.add_arrived(encoded({1})).has_value());
  const void* const seen = values.arrived();
  values.hold_arrived();
  values.merge_arrived();
  CHECK(values.merged() == nullptr);
  CHECK(as_numbers(seen) == numbers{1});
  REQUIRE(values.add_arrived(encoded({2})).has_value());
  values.merge_arrived();
  const void* const merged = values.merged();
  values.hold_merged();
  CHECK(values.merged() == nullptr);
  CHECK(as_numbers(merged) == numbers{2});
  values.clear(false);
}
