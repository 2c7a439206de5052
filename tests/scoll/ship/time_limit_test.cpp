#include <array>
#include <functional>

#include "calls.hpp"
#include "scoll/bulk/bulk.hpp"
#include "scoll/bulk/stream.hpp"
#include "tests/scoll/collective/probe.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr remote_function<std::uint32_t, std::uint32_t> nest{"test.nest"};

/// A service on node 2 whose hook runs code of the test.
struct nesting {
  static constexpr service_id id{0x0277};
  static constexpr std::string_view name = "nesting";
  struct request {};
  struct reply {
    sum<std::uint32_t> members;
  };
  std::shared_ptr<std::function<task<void>(bcast_context&)>> hook =
      std::make_shared<std::function<task<void>(bcast_context&)>>();

  task<result<reply>> execute(const request&, bcast_context& context) {
    if (context.self() == 2) co_await (*hook)(context);
    co_return reply{{1}};
  }
};

enum class operation_kind { bcast, ship, pull, push, stream, create_group };
constexpr std::array all_kinds = {operation_kind::bcast,  operation_kind::ship,
                                  operation_kind::pull,   operation_kind::push,
                                  operation_kind::stream, operation_kind::create_group};

/// Returns options with a limit and nothing else.
struct limit_alone : scoll::detail::converts_to_options<limit_alone> {
  explicit limit_alone(time_limit l) : limit(l) {}
  time_limit remaining() const { return limit; }
  time_limit limit;
};

/// Node 2 asks node 3, on behalf of node 1.
struct trio {
  virtual_cluster c{3};
  probe service;
  nesting nested;
  handlers h;
  std::vector<service_handle> served, nesting_served;
  std::vector<std::byte> theirs, ours;
  memory_region exposed;
  group<probe> both;

  trio() : theirs(100), ours(100) {
    served = c.serve(service);
    nesting_served = c.serve(nested);
    h.serve_all(c[2]);
    exposed = expose(c[2], std::span(theirs), memory_access::read_write).value();
    both = c.run(c[1].create_group<probe>(targets())).value();
  }
  static std::vector<target> targets() { return {{2, {}}, {3, {}}}; }
  std::uint64_t sent() { return c[1].wire().statistics().requests_sent; }

  /// The error that one operation ended with.
  template <class Options>
  task<error> perform(operation_kind kind, const Options& how) {
    error ended;
    if (kind == operation_kind::bcast) {
      const auto r = co_await bcast(both, probe::request{}, how);
      ended = r.status().error();
    } else if (kind == operation_kind::ship) {
      const auto r = co_await ship(c[1], 3, add, pair_of{1, 2}, how);
      if (!r) ended = r.error();
    } else if (kind == operation_kind::pull) {
      const auto r = co_await pull(c[1], exposed.descriptor(), 0, std::span(ours), how);
      ended = r.error();
    } else if (kind == operation_kind::push) {
      const auto r = co_await push(c[1], exposed.descriptor(), 0, std::span(ours), how);
      ended = r.error();
    } else if (kind == operation_kind::stream) {
      bulk_stream chunks(c[1], exposed.descriptor(), how);
      const auto r = co_await chunks.next();
      if (!r) ended = r.error();
    } else {
      const auto r = co_await c[1].create_group<probe>(targets(), how);
      if (!r) ended = r.error();
    }
    co_return ended;
  }

  /// Node 1 asks node 2, by a call or a broadcast that may take `limit`; `work` runs in the handler or hook.
  template <class Work>
  void run_nested(bool by_call, nanoseconds limit, Work work) {
    if (by_call) {
      auto handle = c[1].serve(
          nest, [&](const std::uint32_t& in, call_context& context) -> task<result<std::uint32_t>> {
            co_await work(context);
            co_return in;
          });
      REQUIRE(handle);
      ask(c, 0, 2, nest, 1, {.deadline = limit}).has_value();
      c.ex.run_for(1s);
      return;
    }
    *nested.hook = [&](bcast_context& context) -> task<void> { co_await work(context); };
    const auto group = c.run(c[0].create_group<nesting>(c.targets())).value();
    c.bcast(group, {}, {.deadline = limit}).ok();
    c.ex.run_for(1s);
    *nested.hook = {};
  }
};

}  // namespace

TEST_CASE("without a limit every operation waits for its peer") {
  for (const operation_kind kind : all_kinds) {
    CAPTURE(static_cast<int>(kind));
    trio t;
    t.c.network.freeze(2);
    std::optional<error> ended;
    scope work(t.c.ex);
    const auto run = [&]() -> task<void> { ended = co_await t.perform(kind, limit_alone(time_limit())); };
    work.spawn(run());
    t.c.ex.run_for(100ms);
    CHECK_FALSE(ended);
    t.c.network.thaw(2);
    const auto join = [&]() -> task<void> { co_await work.join(); };
    t.c.run(join());
    REQUIRE(ended);
    CHECK_FALSE(*ended);
  }
}

TEST_CASE("a limit that is over ends every operation at once, with nothing sent") {
  trio t;
  const time_point start = t.c.ex.now();
  const std::uint64_t before = t.sent();
  for (const operation_kind kind : all_kinds) {
    for (const time_limit over :
         {time_limit(0ns), time_limit(-1s), time_limit(deadline(start)), time_limit(deadline(start - 1ms))}) {
      CAPTURE(static_cast<int>(kind));
      CHECK(t.c.run(t.perform(kind, limit_alone(over))) == errc::deadline_exceeded);
    }
  }
  CHECK(t.c.ex.now() == start);
  CHECK(t.sent() == before);
  CHECK(calls_over(t.c));
}

TEST_CASE("a deadline may pass between making an operation and awaiting it") {
  trio t;
  const std::uint64_t before = t.sent();
  const auto late = [&]() -> task<void> {
    const time_limit soon = deadline::in(10ms);
    auto asking = bcast(t.both, probe::request{}, {.deadline = soon});
    auto calling = ship(t.c[1], 3, add, pair_of{1, 2}, {.deadline = soon});
    co_await sleep_for(10ms);
    const auto asked = co_await asking;
    CHECK(asked.status().error() == errc::deadline_exceeded);
    CHECK(asked.outcome().count(member_state::not_reached) == 2);
    const auto called = co_await calling;
    CHECK(called.error() == errc::deadline_exceeded);
    CHECK_FALSE(called.may_have_executed());
  };
  t.c.run(late());
  CHECK(t.sent() == before);
  CHECK(calls_over(t.c));
}

TEST_CASE("what a hook or handler nests after its time has run out ends at once") {
  const bool by_call = GENERATE(true, false);
  trio t;
  int performed = 0;
  t.run_nested(by_call, 20ms, [&](auto& context) -> task<void> {
    co_await sleep_for(30ms);
    const std::uint64_t before = t.sent();
    const time_point start = t.c.ex.now();
    for (const operation_kind kind : all_kinds) {
      CAPTURE(static_cast<int>(kind));
      const error by_time = co_await t.perform(kind, limit_alone(context.remaining()));
      CHECK(by_time == errc::deadline_exceeded);
      const error by_context = co_await t.perform(kind, context);
      const bool at_once = by_context == errc::deadline_exceeded || by_context == errc::cancelled;
      CHECK(at_once);
      ++performed;
    }
    CHECK(t.c.ex.now() == start);
    CHECK(t.sent() == before);
  });
  CHECK(performed == 6);
}

TEST_CASE("a context passed as options gives nested operations its time and its stop") {
  const bool by_call = GENERATE(true, false);
  const operation_kind kind = all_kinds[GENERATE(range(std::size_t{0}, all_kinds.size()))];
  CAPTURE(static_cast<int>(kind));
  trio t;
  std::optional<error> in_time, stopped;
  t.run_nested(by_call, 400ms, [&](auto& context) -> task<void> {
    in_time = co_await t.perform(kind, context);
    const time_limit left = context.remaining();
    t.c.network.freeze(2);
    stopped = co_await t.perform(kind, context);
    CHECK(left.left(t.c.ex.now()) <= 200ms);  // a deadline keeps a margin for each level
    CHECK(left.left(t.c.ex.now()) >= 0ns);
    t.c.network.thaw(2);
  });
  REQUIRE(in_time);
  CHECK_FALSE(*in_time);
  REQUIRE(stopped);
  const bool ended = *stopped == errc::deadline_exceeded || *stopped == errc::cancelled;
  CHECK(ended);
}

TEST_CASE("a handler without a limit gives none, and its stop all the same") {
  trio t;
  std::optional<error> ended;
  stop_source stop;
  t.c[1]
      .serve(nest,
             [&](const std::uint32_t& in, call_context& context) -> task<result<std::uint32_t>> {
               CHECK(context.remaining().unlimited());
               ended = co_await t.perform(operation_kind::pull, context);
               co_return in;
             })
      .value();
  t.c.network.freeze(2);
  call_flight<std::uint32_t> f(t.c, t.c[0], 2, nest, 1U, {.stop = stop.token()});
  t.c.ex.run_for(100ms);
  CHECK_FALSE(ended);
  stop.request_stop();
  t.c.ex.run_for(1ms);
  REQUIRE(ended);
  CHECK(*ended == errc::cancelled);
  t.c.network.thaw(2);
}
