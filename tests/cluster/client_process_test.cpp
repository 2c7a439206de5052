#include <algorithm>
#include <cstdint>
#include <vector>

#include "client_crowd.hpp"
#include "tests/catch.hpp"
#include "transport/session/endpoint_options.hpp"

// Programs that no server lists, in great numbers.
using namespace scoll::test;

namespace {

constexpr std::uint32_t client_count = 1000, places = 900;

/// How often the median client is served before the shares are compared.
constexpr std::uint32_t fair_calls = 100;

/// What an idle client costs its server, in bytes of the heap beside the pools, whose size does not depend on
/// the number of clients; docs/shipper.md says so, too.
constexpr std::uint64_t bytes_per_client = 2500;

/// The clients that have a place.
std::vector<std::uint32_t> served(const client_crowd& c) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < client_count; ++i) {
    if (c.at(i).served != 0) found.push_back(i);
  }
  return found;
}

}  // namespace

TEST_CASE("a thousand client processes are served or told that there is no place", "[crowd]") {
  client_crowd c(places);
  c.start_clients(client_count);
  const auto heard = [&] {
    std::uint32_t answered = 0;
    for (std::uint32_t i = 0; i < client_count; ++i)
      answered += c.at(i).served + c.at(i).busy + c.at(i).failed != 0;
    return answered == client_count;
  };
  REQUIRE(client_crowd::until(heard, 120));
  const auto lucky = served(c);
  CHECK(lucky.size() == places);
  CHECK(c.places() == places);
  for (std::uint32_t i = 0; i < client_count; ++i) {
    INFO("client " << i << ": " << c.at(i).code);
    CHECK(c.at(i).failed == 0);
  }

  // All get their share.
  std::vector<std::uint32_t> before(client_count);
  for (const std::uint32_t i : lucky) before[i] = c.at(i).served;
  const auto calls_of_all = [&] {
    std::vector<std::uint32_t> found;
    for (const std::uint32_t i : lucky) found.push_back(c.at(i).served - before[i]);
    std::sort(found.begin(), found.end());
    return found;
  };
  c.tell(client_crowd::task::call);
  CHECK(client_crowd::until([&] { return calls_of_all()[places / 2] >= fair_calls; }, 120));
  c.tell(client_crowd::task::wait);
  const auto calls = calls_of_all();
  INFO("slowest " << calls.front() << ", median " << calls[calls.size() / 2]);
  CHECK(calls.front() * 2 >= calls[calls.size() / 2]);

  // Each costs little while it is idle, and nothing once it has gone. Those without a place would take one that
  // becomes free.
  for (std::uint32_t i = 0; i < client_count; ++i) {
    if (c.at(i).served == 0) c.kill_client(i);
  }
  const std::uint64_t all = c.heap_bytes();
  for (std::size_t i = 0; i < places / 2; ++i) c.kill_client(lucky[i]);
  REQUIRE(client_crowd::until([&] { return c.places() == places - places / 2; }, 10));
  c.tell(client_crowd::task::leave);
  REQUIRE(client_crowd::until([&] { return c.places() == 0; }, 60));
  const std::uint64_t none = c.heap_bytes();
  const std::uint64_t each = (all - none) / places;
  INFO(each << " bytes for each client");
  CHECK(each * 10 <= bytes_per_client * 11);
  CHECK(each * 10 >= bytes_per_client * 9);
  c.tell(client_crowd::task::wait);
  c.start_clients(20);
  REQUIRE(client_crowd::until([&] { return c.places() == 20; }, 60));
  c.tell(client_crowd::task::leave);
  REQUIRE(client_crowd::until([&] { return c.places() == 0; }, 60));
  CHECK(c.heap_bytes() <= none + (64U << 10U));
}

TEST_CASE("connections that say nothing keep no client from being served") {
  client_crowd c(places);
  c.connect_mute(100);
  c.start_clients(20);
  const auto all_served = [&] {
    for (std::uint32_t i = 0; i < 20; ++i) {
      if (c.at(i).served == 0) return false;
    }
    return true;
  };
  CHECK(client_crowd::until(all_served, 60));
  CHECK(client_crowd::until([&] { return c.places() == 20; }, 10));
}
