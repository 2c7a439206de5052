#include <numeric>

#include "calls.hpp"
#include "scoll/node_access.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

std::vector<std::uint8_t> pattern(std::size_t size) {
  std::vector<std::uint8_t> v(size);
  for (std::size_t i = 0; i < size; ++i) v[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  return v;
}

}  // namespace

TEST_CASE("arguments and results of any size come through, around every limit", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  for (const int size : {0, 1, 315, 316, 317, 320, 321, 4096, 32763, 32764, 32765, 40000, 1000000}) {
    const auto sent = pattern(static_cast<std::size_t>(size));
    const auto r = ask(c, 0, 2, echo, sent);
    REQUIRE(r);
    REQUIRE(*r == sent);
    REQUIRE(calls_over(c));
  }
  CHECK(scoll::detail::node_access::shipper(c[1]).statistics().large == 3);
}

TEST_CASE("the eager limit is an option, and the sides may differ in it", "[world]") {
  const world_kind kind = any_kind_of_world();
  node_options base;
  base.ship.eager_bytes = 1000;
  cluster c(kind, 1, base);
  cluster both(kind, 2);
  both.reboot(1, 2, base);
  handlers h;
  h.serve_all(both[0]);
  h.serve_all(both[1]);
  for (const int size : {900, 1000, 2000, 33000}) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto sent = pattern(static_cast<std::size_t>(size));
      const auto r = ask(both, i, 2 - i, echo, sent);
      REQUIRE(r);
      REQUIRE(*r == sent);
    }
  }
  CHECK(calls_over(both));
}

TEST_CASE("too large is said with both sizes, and nothing runs") {
  node_options base;
  base.ship.large_bytes = 50000;
  virtual_cluster c(2, base);
  handlers h;
  h.serve_all(c[1]);
  const auto r = ask(c, 0, 2, echo, pattern(60000));
  CHECK(r.error() == error(errc::too_large, "an argument of 60004 bytes: at most 50000 are allowed"));
  CHECK_FALSE(r.may_have_executed());
  constexpr remote_function<std::uint32_t, std::vector<std::uint8_t>> grow{"test.grow"};
  c[1].serve(grow, [](const std::uint32_t& n, call_context&) { return pattern(n); }).value();
  CHECK(ask(c, 0, 2, grow, 40000U)->size() == 40000);
  const auto much = ask(c, 0, 2, grow, 60000U);
  CHECK(much.error() == error(errc::too_large, "a result of 60004 bytes: at most 50000 are allowed"));
  CHECK(much.may_have_executed());
  CHECK(h.begun == 0);
  CHECK(calls_over(c));
}

TEST_CASE("the memory of large arguments and results is bounded") {
  node_options base;
  base.ship.large_memory = 100000;
  virtual_cluster c(2, base);
  handlers h;
  constexpr remote_function<std::vector<std::uint8_t>, std::uint32_t> measure{"test.measure"};
  c[1].serve(measure,
             [&](const std::vector<std::uint8_t>& v, call_context&) -> task<result<std::uint32_t>> {
               co_await h.go.wait();
               co_return static_cast<std::uint32_t>(v.size());
             })
      .value();
  call_flight<std::uint32_t> first(c, c[0], 2, measure, pattern(60000));
  c.ex.run_for(20ms);
  CHECK(scoll::detail::node_access::shipper(c[1]).large_held() == 60004);
  const auto second = ask(c, 0, 2, measure, pattern(60000));
  CHECK(second.error() == errc::busy);
  CHECK(second.error().text().starts_with("ship.large_memory is "));
  CHECK_FALSE(second.may_have_executed());
  h.go.set();
  CHECK(*first.land() == 60000);
  CHECK(calls_over(c));
}

TEST_CASE("a large call ends by its deadline, its token or its peer at any moment") {
  for (int us = 1; us < 3000; us = us * 5 / 4 + 1) {
    virtual_cluster c(2);
    handlers h;
    h.serve_all(c[1]);
    stop_source stop;
    ship_options options;
    options.stop = stop.token();
    const bool by_time = us % 3 == 0;
    if (by_time) options.deadline = std::chrono::microseconds(us);
    const auto sent = pattern(200000);
    call_flight<std::vector<std::uint8_t>> f(c, c[0], 2, echo, sent, options);
    c.pass(std::chrono::microseconds(us));
    if (us % 3 == 1) stop.request_stop();
    if (us % 3 == 2) c.kill(1);
    auto& r = f.land();
    if (!r) {
      const bool expected = r.error() == errc::cancelled || r.error() == errc::deadline_exceeded ||
                            r.error() == errc::connection_lost || r.error() == errc::unreachable;
      CAPTURE(us, std::string(r.error().text()));
      REQUIRE(expected);
      c.pass(1500ms);
      REQUIRE((r.may_have_executed() || h.begun == 0));
    } else {
      REQUIRE(*r == sent);
    }
    c.revive(1);
    c.pass(1500ms);
    REQUIRE(calls_over(c));
    REQUIRE(c[0].wire().payloads_in_use() == 0);
  }
}

TEST_CASE("a large result that nobody fetches is given up") {
  node_options base;
  base.ship.large_hold = 100ms;
  virtual_cluster c(2, base);
  handlers h;
  h.serve_all(c[1]);
  const auto sent = pattern(20000);
  constexpr remote_function<std::uint32_t, std::vector<std::uint8_t>> grow{"test.grow"};
  c[1].serve(grow, [](const std::uint32_t& n, call_context&) { return pattern(n); }).value();
  call_flight<std::vector<std::uint8_t>> f(c, c[0], 2, grow, 5000000U);
  for (int i = 0; i < 1000 && scoll::detail::node_access::shipper(c[1]).large_held() == 0; ++i)
    c.ex.run_for(10us);
  REQUIRE(scoll::detail::node_access::shipper(c[1]).large_held() == 5000004);
  c.network.freeze(0);
  c.ex.run_for(150ms);
  CHECK(scoll::detail::node_access::shipper(c[1]).large_held() == 0);
  c.network.thaw(0);
  auto& r = f.land();
  REQUIRE_FALSE(r);
  CHECK(r.may_have_executed());
  CHECK(calls_over(c));
}

TEST_CASE("a borrowed argument points into the message while its handler runs", "[world]") {
  cluster c(any_kind_of_world(), 2);
  constexpr remote_function<wire::borrowed_bytes, std::uint64_t> sum{"test.sum"};
  event go;
  c[1].serve(sum,
             [&](const wire::borrowed_bytes& b, call_context&) -> task<result<std::uint64_t>> {
               co_await go.wait();
               std::uint64_t total = 0;
               for (const std::byte one : b.view) total += std::to_integer<std::uint64_t>(one);
               co_return total;
             })
      .value();
  for (const unsigned size : {10U, 5000U, 100000U}) {
    go.reset();
    const std::vector<std::byte> bytes(size, std::byte{3});
    call_flight<std::uint64_t> f(c, c[0], 2, sum, wire::borrowed_bytes{bytes});
    c.pass(50ms);
    go.set();
    REQUIRE(f.land());
    CHECK(*f.land() == 3 * size);
  }
  CHECK(calls_over(c));
}
