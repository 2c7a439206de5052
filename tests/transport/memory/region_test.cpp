#include <random>

#include "transfers.hpp"
#include "transport/memory/region_table.hpp"
#include "transport/wire/wire.hpp"

using namespace transfers;

namespace {

memory_head asks(const region_descriptor& d, memory_order_kind operation, std::uint64_t offset,
                 std::uint32_t length) {
  return {operation, d.region, d.incarnation, d.generation, offset, length};
}
constexpr auto reads = memory_order_kind::get;
constexpr auto writes = memory_order_kind::put;

struct lonely {
  explicit lonely(const std::function<void(endpoint_options&)>& tune = {}) {
    endpoint_options o = options_of(1, 7);
    if (tune) tune(o);
    n = std::make_unique<node>(*w, o);
  }
  region_table& table() { return n->ep->memory().regions(); }
  endpoint& ep() { return *n->ep; }

  std::unique_ptr<world> w = any_bulk_world();
  std::unique_ptr<node> n;
};

}  // namespace

TEST_CASE("a region's descriptor says what peers need", "[reactor]") {
  lonely l;
  bytes memory(100);
  auto region = memory_region::expose(l.ep(), memory, memory_access::write);
  REQUIRE(region.has_value());
  const region_descriptor d = region->descriptor();
  CHECK(d.node == 1);
  CHECK(d.incarnation == 7);
  CHECK(d.length == 100);
  CHECK(d.access == memory_access::write);
  CHECK(d.keys.size() == 0);
  CHECK(region->size() == 100);
  CHECK(l.table().check(asks(d, writes, 0, 100)).has_value());
  CHECK(l.table().check(asks(d, reads, 0, 1)).error() == errc::invalid_argument);
  CHECK(memory_region::expose(l.ep(), bytes(3))->access() == memory_access::read);
}

TEST_CASE("a generation never comes back", "[reactor]") {
  lonely l;
  bytes memory(10);
  std::vector<region_descriptor> dead;
  for (int i = 0; i < 100; ++i) {
    auto region = memory_region::expose(l.ep(), memory, memory_access::read_write);
    REQUIRE(region.has_value());
    const auto d = region->descriptor();
    CHECK(d.region == 0);  // the index does come back
    CHECK(l.table().check(asks(d, reads, 0, 10)).has_value());
    for (const auto& old : dead) {
      const auto s = l.table().check(asks(old, reads, 0, 10));
      REQUIRE_FALSE(s.has_value());
      REQUIRE(s.error() == errc::stale_descriptor);
    }
    dead.push_back(d);
  }
  CHECK(l.table().size() == 0);
  CHECK(l.table().check(asks(dead.back(), reads, 0, 1)).error() == errc::stale_descriptor);
}

TEST_CASE("forged regions and ranges are refused", "[reactor]") {
  lonely l;
  bytes memory(100);
  auto region = memory_region::expose(l.ep(), memory, memory_access::read_write);
  const auto d = region->descriptor();
  const auto refusal_of = [&](const memory_head& head) {
    const auto s = l.table().check(head);
    REQUIRE_FALSE(s.has_value());
    return s.error().code();
  };
  auto forged = d;
  forged.region = 1;
  CHECK(refusal_of(asks(forged, reads, 0, 1)) == errc::not_found);
  forged.region = UINT32_MAX;
  CHECK(refusal_of(asks(forged, reads, 0, 1)) == errc::not_found);
  forged = d;
  forged.generation += 1;
  CHECK(refusal_of(asks(forged, reads, 0, 1)) == errc::stale_descriptor);
  forged.generation = 0;
  CHECK(refusal_of(asks(forged, reads, 0, 1)) == errc::stale_descriptor);
  forged = d;
  forged.incarnation = 6;
  CHECK(refusal_of(asks(forged, reads, 0, 1)) == errc::stale_descriptor);

  for (const auto& [offset, length] : std::vector<std::pair<std::uint64_t, std::uint32_t>>{
           {0, 101}, {100, 1}, {101, 0}, {99, 2}, {UINT64_MAX, 1}, {UINT64_MAX - 5, 10}, {50, UINT32_MAX}}) {
    CHECK(refusal_of(asks(d, reads, offset, length)) == errc::invalid_argument);
    CHECK(refusal_of(asks(d, writes, offset, length)) == errc::invalid_argument);
  }
  CHECK(l.table().check(asks(d, reads, 100, 0)).has_value());
  CHECK(l.table().check(asks(d, reads, 0, 100)).has_value());
}

TEST_CASE("segments are one range", "[reactor]") {
  lonely l;
  std::mt19937 random(4);
  std::array<fenced, 5> parts{fenced(made(1, 1)), fenced(0), fenced(made(700, 2)), fenced(made(3, 3)),
                              fenced(made(64, 4))};
  std::vector<std::span<std::byte>> segments;
  bytes flat;
  for (auto& part : parts) {
    segments.push_back(part.memory());
    flat.insert(flat.end(), part.memory().begin(), part.memory().end());
  }
  auto region = memory_region::expose(l.ep(), std::span<const std::span<std::byte>>(segments),
                                      memory_access::read_write);
  REQUIRE(region.has_value());
  REQUIRE(region->size() == flat.size());
  const auto d = region->descriptor();
  for (int i = 0; i < 2000; ++i) {
    const std::size_t offset = random() % (flat.size() + 1);
    const std::size_t length = random() % (flat.size() - offset + 1);
    const auto size = static_cast<std::uint32_t>(length);
    bytes copy(length);
    REQUIRE(l.table().check(asks(d, reads, offset, size)).has_value());
    l.table().read(asks(d, reads, offset, size), copy);
    REQUIRE(std::equal(copy.begin(), copy.end(), flat.begin() + static_cast<std::ptrdiff_t>(offset)));
    for (auto& b : copy) b = static_cast<std::byte>(random());
    std::copy(copy.begin(), copy.end(), flat.begin() + static_cast<std::ptrdiff_t>(offset));
    l.table().write(asks(d, writes, offset, size), copy);
  }
  std::size_t at = 0;
  for (auto& part : parts) {
    CHECK(part.holds(std::span(flat).subspan(at, part.memory().size())));
    at += part.memory().size();
  }

  const std::vector<std::span<const std::byte>> many(10'000, flat);
  CHECK(memory_region::expose(l.ep(), many)->size() == flat.size() * many.size());
}

TEST_CASE("regions move, are bounded, and may outlive their endpoint", "[reactor]") {
  lonely l([](endpoint_options& o) { o.region_limit = 2; });
  bytes one = made(10, 1);
  bytes other = made(20, 2);
  memory_region survivor;
  CHECK_FALSE(survivor.exposed());
  {
    auto a = memory_region::expose(l.ep(), one);
    auto b = memory_region::expose(l.ep(), other);
    REQUIRE(a.has_value());
    REQUIRE(b.has_value());
    CHECK(memory_region::expose(l.ep(), one).error() == errc::busy);
    CHECK(memory_region::expose(l.ep(), one, static_cast<memory_access>(4)).error() ==
          errc::invalid_argument);
    const auto of_a = a->descriptor();
    const auto of_b = b->descriptor();
    survivor = std::move(*a);
    CHECK_FALSE(a->exposed());
    CHECK(survivor.descriptor() == of_a);
    bytes copy(10);
    l.table().read(asks(of_a, reads, 0, 10), copy);
    CHECK(copy == one);
    survivor = std::move(*b);
    CHECK(survivor.descriptor() == of_b);
    CHECK(l.table().check(asks(of_a, reads, 0, 1)).error() == errc::stale_descriptor);
    memory_region& self = survivor;
    survivor = std::move(self);
    CHECK(survivor.exposed());
  }
  CHECK(l.table().size() == 1);
  l.n.reset();
  CHECK_FALSE(survivor.exposed());
}

TEST_CASE("a descriptor travels in messages") {
  region_descriptor d;
  d.node = 3;
  d.incarnation = 0x0102030405060708;
  d.generation = 9;
  d.length = UINT64_MAX;
  d.region = 77;
  d.access = memory_access::read_write;
  for (std::size_t keys = 0; keys <= region_keys::capacity; ++keys) {
    std::array<std::byte, 256> space;
    const auto size = wire::encode_to(space, d);
    REQUIRE(size.has_value());
    CHECK(*size == 38 + 16 * keys);
    const auto whole = std::span<const std::byte>(space).first(*size);
    const auto again = wire::decode_from<region_descriptor>(whole);
    REQUIRE(again.has_value());
    CHECK(*again == d);
    for (std::size_t cut = 0; cut < *size; ++cut) {
      CHECK_FALSE(wire::decode_from<region_descriptor>(whole.first(cut)).has_value());
    }
    for (std::size_t at = 0; at < *size; ++at) {
      for (unsigned bit = 0; bit < 8; ++bit) {
        auto altered = space;
        altered[at] ^= static_cast<std::byte>(1U << bit);
        const auto other = wire::decode_from<region_descriptor>(std::span(altered).first(*size));
        if (other) CHECK_FALSE(*other == d);
      }
    }
    if (keys == region_keys::capacity) break;
    d.keys.push_back({1, static_cast<std::uint32_t>(keys), keys << 40});
  }
  std::array<std::byte, 400> too_many{};
  REQUIRE(wire::encode_to(too_many, d).has_value());
  too_many[37] = std::byte{9};
  const auto decoded = wire::decode_from<region_descriptor>(std::span(too_many).first(38 + 16 * 9));
  CHECK(decoded.error() == errc::malformed);
}

TEST_CASE("the head of a segment decodes or fails, whatever it is") {
  const memory_head head{writes, 1, 2, 3, 4, 5};
  std::array<std::byte, memory_head_bytes> space;
  REQUIRE(*wire::encode_to(space, head) == memory_head_bytes);
  CHECK(space[0] == std::byte{2});
  CHECK(space[1] == std::byte{1});
  CHECK(space[5] == std::byte{2});
  CHECK(space[13] == std::byte{3});
  CHECK(space[21] == std::byte{4});
  CHECK(space[29] == std::byte{5});
  for (std::size_t cut = 0; cut < space.size(); ++cut) {
    CHECK_FALSE(wire::decode_from<memory_head>(std::span<const std::byte>(space).first(cut)).has_value());
  }
  for (unsigned operation = 0; operation < 256; ++operation) {
    space[0] = static_cast<std::byte>(operation);
    CHECK(wire::decode_from<memory_head>(space).has_value() == (operation >= 1 && operation <= 7));
  }
}
