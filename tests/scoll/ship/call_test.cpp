#include <numeric>

#include "calls.hpp"
#include "scoll/node_access.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

TEST_CASE("a function has a number from its name, and a digest of its types") {
  STATIC_REQUIRE(add.id() == scoll::detail::fnv1a("test.add"));
  STATIC_REQUIRE(wire::signature<pair_of> == "{u32,u32}");
  STATIC_REQUIRE(wire::signature<std::vector<std::optional<std::string>>> == "[text?]");
  STATIC_REQUIRE(add.id() == 0x6147f6a7d144ff48);
  STATIC_REQUIRE(add.key().types.types == 0xebc6186d245b460d);
  constexpr remote_function<pair_of, std::uint64_t> same{"test.add"};
  constexpr remote_function<pair_of, std::uint32_t> other_result{"test.add"};
  constexpr remote_function<pair_of, std::uint64_t> other_name{"test.sub", add.id()};
  STATIC_REQUIRE(compatible(same.key().types, add.key().types));
  STATIC_REQUIRE_FALSE(compatible(other_result.key().types, add.key().types));
  STATIC_REQUIRE_FALSE(compatible(other_name.key().types, add.key().types));
}

TEST_CASE("a call gives the handler's result", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  const auto sum = ask(c, 0, 2, add, {3, 4});
  REQUIRE(sum);
  CHECK(*sum == 7);
  CHECK(sum.may_have_executed());
  CHECK(h.last_caller == 1);
  CHECK(h.last_remaining == nanoseconds::max());
  const auto loud = ask(c, 0, 2, shout, "hello");
  REQUIRE(loud);
  CHECK(*loud == "hello!");
  CHECK(ask(c, 0, 2, fail, 2U).has_value());
  CHECK(h.begun == 3);
  CHECK(calls_over(c));
}

TEST_CASE("results come in the order in which handlers end", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  call_flight<std::uint64_t> slow(c, c[0], 2, wait_until_told, nothing{});
  REQUIRE(c.until([&] { return h.begun == 1; }));
  CHECK(*ask(c, 0, 2, add, {1, 1}) == 2);
  CHECK_FALSE(slow.done());
  h.go.set();
  CHECK(*slow.land() == 7);
}

TEST_CASE("thousands of calls are in flight at once", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  std::vector<std::unique_ptr<call_flight<std::uint64_t>>> all;
  for (int i = 0; i < 2000; ++i)
    all.push_back(std::make_unique<call_flight<std::uint64_t>>(c, c[0], 2, wait_until_told, nothing{}));
  REQUIRE(c.until([&] { return h.begun == 2000; }));
  CHECK(scoll::detail::node_access::shipper(c[1]).server_calls_of(1) == 2000);
  h.go.set();
  int good = 0;
  for (auto& f : all) good += f->land().has_value();
  CHECK(good == 2000);
  all.clear();
  CHECK(calls_over(c));
}

TEST_CASE("a handler's error comes with its domain, number and text", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  const auto told = ask(c, 0, 2, fail, 1U);
  REQUIRE_FALSE(told);
  CHECK(told.error() == error::user(42, "told to fail"));
  CHECK(told.may_have_executed());
  const auto thrown = ask(c, 0, 2, fail, 0U);
  REQUIRE_FALSE(thrown);
  CHECK(thrown.error() == error(errc::hook_failed, "thrown by a handler"));
  CHECK(thrown.may_have_executed());
}

TEST_CASE("a function that is not served is named", "[world]") {
  cluster c(any_kind_of_world(), 2);
  const auto r = ask(c, 0, 2, add, {1, 2});
  REQUIRE_FALSE(r);
  CHECK(r.error() == error(errc::unknown_function, "node 2 does not serve 'test.add'"));
  CHECK_FALSE(r.may_have_executed());
  const auto nobody = ask(c, 0, 9, add, {1, 2});
  REQUIRE_FALSE(nobody);
  CHECK(nobody.error() == errc::unreachable);
  CHECK_FALSE(nobody.may_have_executed());
  const auto itself = ask(c, 1, 2, add, {1, 2});
  REQUIRE_FALSE(itself);
  CHECK(itself.error() == errc::invalid_argument);
  CHECK_FALSE(itself.may_have_executed());
}

TEST_CASE("a notification ends when it is taken", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  const auto send = [&](const remote_function<nothing, std::uint64_t>& f) -> task<ship_result<nothing>> {
    auto r = co_await notify(c[0], 2, f, nothing{});
    co_return r;
  };
  REQUIRE(c.run(send(wait_until_told)));
  REQUIRE(c.until([&] { return h.begun == 1; }));
  CHECK(h.ended == 0);
  CHECK(scoll::detail::node_access::shipper(c[1]).server_calls() == 1);
  h.go.set();
  CHECK(calls_over(c));
  CHECK(h.ended == 1);
  constexpr remote_function<nothing, std::uint64_t> unknown{"test.unknown"};
  const auto r = c.run(send(unknown));
  REQUIRE_FALSE(r);
  CHECK(r.error() == errc::unknown_function);
}

TEST_CASE("handlers ship on, and the time left travels", "[world]") {
  cluster c(any_kind_of_world(), 3);
  handlers h;
  h.serve_all(c[2]);
  constexpr remote_function<pair_of, std::uint64_t> relay{"test.relay"};
  c[1].serve(relay,
             [&](const pair_of& p, call_context& call) -> task<result<std::uint64_t>> {
               co_await sleep_for(5ms);
               ship_options options;
               options.deadline = call.remaining();
               options.stop = call.stop();
               auto r = co_await ship(c[1], 3, add, p, options);
               co_return r;
             })
      .value();
  ship_options options;
  options.deadline = 50ms;
  const auto sum = ask(c, 0, 2, relay, {20, 22}, options);
  REQUIRE(sum);
  CHECK(*sum == 42);
  CHECK(h.last_caller == 2);
  CHECK(h.last_remaining > (c.is_virtual() ? 44ms : 0ms));
  CHECK(h.last_remaining < 46ms);
}

TEST_CASE("the table of handlers is bounded, and no peer takes all of it", "[world]") {
  node_options base;
  base.ship.handlers = 8;
  cluster c(any_kind_of_world(), 4, base);
  handlers h;
  h.serve_all(c[3]);
  std::vector<std::unique_ptr<call_flight<std::uint64_t>>> all;
  const auto burst = [&](std::uint32_t from, int times) {
    for (int i = 0; i < times; ++i)
      all.push_back(std::make_unique<call_flight<std::uint64_t>>(c, c[from], 4, wait_until_told, nothing{}));
    c.pass(5ms);
  };
  burst(0, 20);
  CHECK(scoll::detail::node_access::shipper(c[3]).server_calls_of(1) == 4);
  burst(1, 20);
  burst(2, 20);
  CHECK(scoll::detail::node_access::shipper(c[3]).server_calls_of(2) == 2);
  CHECK(scoll::detail::node_access::shipper(c[3]).server_calls_of(3) == 1);
  CHECK(scoll::detail::node_access::shipper(c[3]).server_calls() <= 8);
  int busy = 0;
  for (auto& f : all) busy += f->done() && f->land().error() == errc::busy && !f->land().may_have_executed();
  CHECK(busy == 60 - 7);
  CHECK(all[19]->land().error().text() == "ship.handlers is 8 on node 4: 4 calls run, 4 of them from node 1");
  h.go.set();
  all.clear();
  CHECK(calls_over(c));
}

TEST_CASE("a limit on calls in flight gives places in the order of coming", "[world]") {
  cluster c(any_kind_of_world(), 2);
  constexpr remote_function<std::uint64_t> numbered{"test.numbered"};
  std::vector<std::uint64_t> order;
  c[1].serve(numbered,
             [&](const std::uint64_t& number, call_context&) -> task<status> {
               order.push_back(number);
               co_await sleep_for(10ms);
               co_return status{};
             })
      .value();
  call_limit limit(2);
  ship_options limited;
  limited.limit = &limit;
  std::vector<std::unique_ptr<call_flight<nothing>>> all;
  const auto begin = [&](std::uint64_t number, const ship_options& options) {
    all.push_back(std::make_unique<call_flight<nothing>>(c, c[0], 2, numbered, number, options));
  };
  for (std::uint64_t i = 0; i < 6; ++i) begin(i, limited);
  REQUIRE(c.until([&] { return order.size() == 2; }));
  CHECK(order == std::vector<std::uint64_t>{0, 1});
  CHECK(limit.free() == 0);
  const auto let_all_end = [&] {
    for (auto& f : all) f->land().ignore();
  };
  SECTION("until all had theirs") {
    let_all_end();
    CHECK(order == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5});
  }
  SECTION("also when one of those who wait gives up") {
    ship_options hurried = limited;
    hurried.deadline = 2ms;
    begin(100, hurried);
    begin(6, limited);
    c.pass(5ms);
    REQUIRE(all[6]->done());
    CHECK(all[6]->land().error() == errc::deadline_exceeded);
    CHECK_FALSE(all[6]->land().may_have_executed());
    CHECK(order.size() == 2);
    let_all_end();
    CHECK(order == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
  }
  SECTION("also when those who are served are refused at once") {
    constexpr remote_function<nothing> unknown{"test.unknown"};
    for (int i = 0; i < 50; ++i)
      all.push_back(std::make_unique<call_flight<nothing>>(c, c[0], 2, unknown, nothing{}, limited));
    begin(6, limited);
    let_all_end();
    CHECK(order == std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5, 6});
  }
  all.clear();
  CHECK(limit.free() == 2);
  CHECK_FALSE(limit.has_waiters());
}

TEST_CASE("both ends ship to each other with all credit used, and nothing locks up", "[world]") {
  node_options base;
  base.link.window = {4, 4, 4, 4};
  base.ship.queue = 64;
  cluster c(any_kind_of_world(), 2, base);
  static constexpr remote_function<std::uint32_t, std::uint32_t> bounce{"test.bounce"};
  for (std::uint32_t i = 0; i < 2; ++i) {
    c[i].serve(bounce,
               [&c, i](const std::uint32_t& left, call_context&) -> task<result<std::uint32_t>> {
                 if (left == 0) co_return 0U;
                 auto r = co_await ship(c[i], 2 - i, bounce, left - 1);
                 if (!r) co_return r.error();
                 co_return *r + 1;
               })
        .value();
  }
  std::vector<std::unique_ptr<call_flight<std::uint32_t>>> all;
  for (int i = 0; i < 20; ++i) {
    for (std::uint32_t n = 0; n < 2; ++n)
      all.push_back(std::make_unique<call_flight<std::uint32_t>>(c, c[n], 2 - n, bounce, 30U));
  }
  for (auto& f : all) {
    REQUIRE(f->land());
    CHECK(*f->land() == 30);
  }
  all.clear();
  CHECK(calls_over(c));
}

TEST_CASE("a function that is closed lets its calls end and takes no more") {
  virtual_cluster c(2);
  event go;
  constexpr remote_function<nothing, std::uint32_t> late{"test.late"};
  auto handle = c[1].serve(late,
                           [&](const nothing&, call_context&) -> task<result<std::uint32_t>> {
                             co_await go.wait();
                             co_return 5U;
                           })
                    .value();
  call_flight<std::uint32_t> first(c, c[0], 2, late, nothing{});
  c.ex.run_for(1ms);
  bool closed = false;
  scope background(c.ex);
  const auto close = [&]() -> task<void> {
    co_await handle.close();
    closed = true;
  };
  background.spawn(close());
  c.ex.run_for(1ms);
  CHECK(ask(c, 0, 2, late, {}).error() == errc::unknown_function);
  CHECK_FALSE(closed);
  go.set();
  CHECK(*first.land() == 5);
  c.ex.run_for(1ms);
  CHECK(closed);
  const auto join = [&]() -> task<void> { co_await background.join(); };
  c.run(join());
  CHECK(c[1].serve(late, [](const nothing&, call_context&) -> std::uint32_t { return 6; }).has_value());
  CHECK(*ask(c, 0, 2, late, {}) == 6);
}

TEST_CASE("options that make no sense are refused") {
  ship_limits limits;
  CHECK(limits.validate());
  limits.eager_bytes = 100;
  CHECK_FALSE(limits.validate());
  limits = {};
  limits.handlers = 0;
  CHECK_FALSE(limits.validate());
  limits = {};
  limits.default_deadline = nanoseconds(0);
  CHECK_FALSE(limits.validate());
}
