#include "calls.hpp"
#include "scoll/node_access.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

TEST_CASE("a deadline ends a call, tells the handler, and the late result is ignored") {
  virtual_cluster c(2);
  handlers h;
  h.serve_all(c[1]);
  constexpr remote_function<nothing, std::uint64_t> stubborn{"test.stubborn"};
  c[1].serve(stubborn,
             [&](const nothing&, call_context&) -> task<result<std::uint64_t>> {
               co_await h.go.wait();
               co_return 1U;
             })
      .value();
  ship_options options;
  options.deadline = 5ms;
  call_flight<std::uint64_t> heard(c, c[0], 2, wait_until_told, nothing{}, options);
  call_flight<std::uint64_t> unheard(c, c[0], 2, stubborn, nothing{}, options);
  c.ex.run_for(6ms);
  for (auto* f : {&heard, &unheard}) {
    REQUIRE(f->done());
    CHECK(f->land().error() == errc::deadline_exceeded);
    CHECK(f->land().may_have_executed());
    CHECK(f->took() == 5ms);
  }
  CHECK(h.stopped == 1);
  CHECK(scoll::detail::node_access::shipper(c[1]).server_calls() == 1);
  h.go.set();
  CHECK(calls_over(c));
  CHECK(*ask(c, 0, 2, add, {1, 1}) == 2);
}

TEST_CASE("no time, or a token that has fired, ends a call before it begins", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  ship_options options;
  options.deadline = nanoseconds(0);
  auto r = ask(c, 0, 2, add, {1, 1}, options);
  CHECK(r.error() == errc::deadline_exceeded);
  CHECK_FALSE(r.may_have_executed());
  stop_source stop;
  stop.request_stop();
  options = {};
  options.stop = stop.token();
  r = ask(c, 0, 2, add, {1, 1}, options);
  CHECK(r.error() == errc::cancelled);
  CHECK_FALSE(r.may_have_executed());
  c.pass(1ms);
  CHECK(h.begun == 0);
}

TEST_CASE("a call that names no deadline takes that of its node") {
  node_options base;
  base.ship.default_deadline = 20ms;
  virtual_cluster c(2, base);
  handlers h;
  h.serve_all(c[1]);
  call_flight<std::uint64_t> usual(c, c[0], 2, wait_until_told, nothing{});
  call_flight<std::uint64_t> longer(c, c[0], 2, wait_until_told, nothing{}, {.deadline = 40ms});
  CHECK(usual.land().error() == errc::deadline_exceeded);
  CHECK(usual.took() == 20ms);
  CHECK(longer.land().error() == errc::deadline_exceeded);
  CHECK(longer.took() == 40ms);
  CHECK(calls_over(c));
}

TEST_CASE("a stop ends a call while it waits to be sent, while it runs, and after") {
  virtual_cluster c(2);
  handlers h;
  h.serve_all(c[1]);
  stop_source stop;
  ship_options options;
  options.stop = stop.token();
  SECTION("before it is sent") {
    c.network.refuse(0, 1);
    c.network.refuse(1, 0);
    call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{}, options);
    c.ex.run_for(1ms);
    stop.request_stop();
    CHECK(f.land().error() == errc::cancelled);
    CHECK_FALSE(f.land().may_have_executed());
    c.revive(1);
    c.ex.run_for(2s);
    CHECK(h.begun == 0);
  }
  SECTION("while it runs") {
    call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{}, options);
    c.ex.run_for(1ms);
    CHECK(h.begun == 1);
    stop.request_stop();
    CHECK(f.land().error() == errc::cancelled);
    CHECK(f.land().may_have_executed());
    c.ex.run_for(1ms);
    CHECK(h.stopped == 1);
  }
  SECTION("on its way: the handler never begins if the news overtakes its turn") {
    call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{}, options);
    stop.request_stop();
    CHECK(f.land().error() == errc::cancelled);
    c.ex.run_for(1ms);
    CHECK(h.ended == h.begun);
  }
  SECTION("after the end it changes nothing") {
    call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{}, options);
    c.ex.run_for(1ms);
    h.go.set();
    CHECK(f.land().has_value());
    stop.request_stop();
    CHECK(f.land().has_value());
    CHECK(h.stopped == 0);
  }
  CHECK(calls_over(c));
}

TEST_CASE("a peer that dies ends its calls within the grace, and its handlers hear of it") {
  virtual_cluster c(2);
  handlers h;
  h.serve_all(c[0]);
  h.serve_all(c[1]);
  call_flight<std::uint64_t> here(c, c[0], 2, wait_until_told, nothing{});
  call_flight<std::uint64_t> there(c, c[1], 1, wait_until_told, nothing{});
  c.ex.run_for(1ms);
  CHECK(h.begun == 2);
  c.kill(1);
  c.ex.run_for(1500ms);
  REQUIRE(here.done());
  CHECK(here.land().error() == errc::connection_lost);
  CHECK(here.land().may_have_executed());
  CHECK(here.took() <= 1300ms);
  CHECK(h.stopped == 2);  // neither handler has a caller any more
  call_flight<std::uint64_t> next(c, c[0], 2, wait_until_told, nothing{});
  c.ex.run_for(1500ms);
  REQUIRE(next.done());
  CHECK(next.land().error() == errc::unreachable);
  CHECK_FALSE(next.land().may_have_executed());
  c.revive(1);
}

TEST_CASE("calls to a peer that liveness calls dead end at once, and new ones are refused", "[world]") {
  cluster c(any_kind_of_world({fault::part}), 2);
  handlers h;
  h.serve_all(c[1]);
  call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{});
  REQUIRE(c.until([&] { return h.begun == 1; }));
  c.kill(1);
  c[0].on_dead(2, 1);
  c.run_ready();
  REQUIRE(f.done());
  CHECK(f.land().error() == errc::peer_died);
  CHECK(f.land().may_have_executed());
  const auto next = ask(c, 0, 2, add, {1, 1});
  CHECK(next.error() == errc::peer_died);
  CHECK_FALSE(next.may_have_executed());
  c.revive(1);
  c.reboot(1, 2);
  h.serve_all(c[1]);
  c[0].on_alive(2, 2);
  CHECK(*ask(c, 0, 2, add, {1, 1}) == 2);
}

TEST_CASE("a connection that comes back within the grace loses no call") {
  virtual_cluster c(2);
  handlers h;
  h.serve_all(c[1]);
  call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{});
  c.ex.run_for(1ms);
  c.network.cut(0, 1);
  c.ex.run_for(10ms);
  h.go.set();
  CHECK(*f.land() == 7);
  CHECK(h.begun == 1);
}

TEST_CASE("the first call after a restart of the peer is answered", "[world]") {
  cluster c(any_kind_of_world(), 2);
  handlers h;
  h.serve_all(c[1]);
  for (std::uint64_t life = 2; life < 6; ++life) {
    CHECK(*ask(c, 0, 2, add, {1, 1}) == 2);
    c.reboot(1, life);
    h.serve_all(c[1]);
    REQUIRE(c.knows_it_has_left(1));
  }
  CHECK(*ask(c, 0, 2, add, {1, 1}) == 2);
}

TEST_CASE("a peer that reboots ends its calls as such", "[world]") {
  cluster c(any_kind_of_world({fault::part}), 2);
  handlers h;
  h.serve_all(c[1]);
  call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{});
  REQUIRE(c.until([&] { return h.begun == 1; }));
  c.kill(1);
  c.pass(10ms);
  h.go.set();
  c.reboot(1, 2);
  c.revive(1);
  h.serve_all(c[1]);
  c.pass(500ms);
  REQUIRE(f.done());
  CHECK(f.land().error() == errc::peer_rebooted);
  CHECK(f.land().may_have_executed());
  CHECK(*ask(c, 0, 2, add, {1, 1}) == 2);
}

TEST_CASE("a node that shuts down ends what it waits for, stops its handlers, and names those that hang") {
  virtual_cluster c(3);
  handlers h;
  h.serve_all(c[1]);
  SECTION("calls of its own end") {
    call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{});
    c.ex.run_for(1ms);
    CHECK(c.stop(0).has_value());
    CHECK(f.land().error() == errc::closed);
    CHECK(f.land().may_have_executed());
    c.ex.run_for(1ms);
    CHECK(h.stopped == 1);
  }
  SECTION("handlers are asked to stop and answer") {
    call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{});
    c.ex.run_for(1ms);
    CHECK(c.stop(1).has_value());
    CHECK(h.stopped == 1);
    CHECK(f.land().error() == errc::cancelled);
    CHECK(f.land().may_have_executed());
  }
  SECTION("new calls are refused meanwhile, here and there") {
    call_flight<std::uint64_t> f(c, c[0], 2, wait_until_told, nothing{});
    c.ex.run_for(1ms);
    scope background(c.ex);
    const auto end = [&]() -> task<void> {
      auto s = co_await c[1].shutdown(4s);
      CHECK(s);
    };
    background.spawn(end());
    c.ex.run_for(1ms);
    const auto there = ask(c, 0, 2, add, {1, 1});
    CHECK(there.error() == errc::closed);
    CHECK_FALSE(there.may_have_executed());
    const auto here = ask(c, 1, 3, add, {1, 1});
    CHECK(here.error() == errc::closed);
    h.go.set();
    const auto join = [&]() -> task<void> { co_await background.join(); };
    c.run(join());
    CHECK(f.land().has_value());
  }
  SECTION("it ends in the moment in which the last work ends") {
    const auto work = []() -> task<void> { co_await sleep_for(1'300us); };
    c[0].background().spawn(work());
    const time_point begun_at = c.ex.now();
    CHECK(c.run(c[0].shutdown(1s)).has_value());
    CHECK(c.ex.now() - begun_at == 1'300us);
  }
  SECTION("a handler that hangs is named") {
    static event never_set;  // outlives the node, which stays
    constexpr remote_function<nothing, std::uint64_t> hang{"test.hang"};
    c[1].serve(hang,
               [](const nothing&, call_context&) -> task<result<std::uint64_t>> {
                 co_await never_set.wait();
                 co_return 1U;
               })
        .value();
    call_flight<std::uint64_t> f(c, c[0], 2, hang, nothing{});
    c.ex.run_for(1ms);
    std::vector<std::string> running;
    scoll::detail::node_access::shipper(c[1]).add_running_handlers(running);
    CHECK(running == std::vector<std::string>{"test.hang"});
    const status ended = c.run(c[1].shutdown(1s));
    REQUIRE_FALSE(ended);
    CHECK(ended.error() == error(errc::deadline_exceeded, "hooks that have not returned: test.hang"));
    CHECK(f.land().error() == errc::closed);
    CHECK(f.land().may_have_executed());
    never_set.set();
    c.ex.run_for(1ms);
    CHECK(scoll::detail::node_access::shipper(c[1]).server_calls() == 0);
  }
}
