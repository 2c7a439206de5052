#include "transport/session/exchange_table.hpp"

#include <array>
#include <vector>

#include "tests/catch.hpp"
#include "transport/session/exchange.hpp"

using scoll::transport::exchange;
using scoll::transport::exchange_table;
using scoll::transport::reply_event;

namespace {

struct waiter : exchange {
  waiter() noexcept : exchange([](exchange&, reply_event&) noexcept {}) {}
};

}  // namespace

TEST_CASE("an exchange is found by its id until it is removed", "[exchange]") {
  exchange_table table;
  waiter a, b;
  const auto first = table.add(a, 8), second = table.add(b, 8);
  CHECK(first != 0);
  CHECK(first != second);
  CHECK(table.find(first) == &a);
  CHECK(table.find(second) == &b);
  table.remove(first);
  CHECK(table.find(first) == nullptr);
  CHECK(table.find(second) == &b);
}

TEST_CASE("a reply that comes late does not find the next exchange of its slot", "[exchange]") {
  exchange_table table;
  waiter a, b;
  const auto old_id = table.add(a, 8);
  table.remove(old_id);
  const auto new_id = table.add(b, 8);
  CHECK(table.slots() == 1);  // the slot is used again
  CHECK(new_id != old_id);
  CHECK(table.find(old_id) == nullptr);
  CHECK(table.find(new_id) == &b);
}

TEST_CASE("any number may be asked for", "[exchange]") {
  exchange_table table;
  waiter a;
  const auto id = table.add(a, 8);
  for (const std::uint64_t other : {std::uint64_t{0}, UINT64_MAX, id + 1, id + (std::uint64_t{1} << 32)})
    CHECK(table.find(other) == nullptr);
}

TEST_CASE("no more exchanges wait than the limit allows", "[exchange]") {
  exchange_table table;
  std::array<waiter, 3> waiters;
  const auto first = table.add(waiters[0], 2);
  CHECK(table.add(waiters[1], 2) != 0);
  CHECK(table.add(waiters[2], 2) == 0);
  table.remove(first);
  CHECK(table.add(waiters[2], 2) != 0);
}

TEST_CASE("every exchange is visited in the order of its slot, and may be removed meanwhile", "[exchange]") {
  exchange_table table;
  std::array<waiter, 4> waiters;
  std::array<std::uint64_t, 4> ids{};
  for (std::size_t i = 0; i < 4; ++i) ids[i] = table.add(waiters[i], 8);
  table.remove(ids[1]);
  std::vector<const exchange*> seen;
  table.each([&](exchange& e) {
    seen.push_back(&e);
    if (&e == &waiters[2]) table.remove(ids[2]);
  });
  CHECK(seen == std::vector<const exchange*>{&waiters[0], &waiters[2], &waiters[3]});
  CHECK(table.find(ids[2]) == nullptr);
}
