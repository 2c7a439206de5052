#include "scoll/coro/deadline.hpp"

#include "logging_nodes.hpp"
#include "scoll/coro/sleep.hpp"
#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace std::chrono_literals;

TEST_CASE("time saturates at never, and deadlines know what remains") {
  CHECK(saturating_add(at(5), 7ns) == at(12));
  CHECK(saturating_add(at(5), nanoseconds::max()) == never);
  CHECK(saturating_add(never, 1ns) == never);
  const deadline none;
  CHECK(none.unlimited());
  CHECK(none.remaining(at(4)) == nanoseconds::max());
  CHECK(none.less(1s) == none);
  CHECK_FALSE(none.passed(at(4)));
  const deadline d(at(100));
  CHECK(d.remaining(at(40)) == 60ns);
  CHECK(d.remaining(at(140)) == 0ns);
  CHECK(d.passed(at(100)));
  CHECK_FALSE(d.passed(at(99)));
  CHECK(d.less(30ns).at == at(70));
  CHECK(d < none);
}

TEST_CASE("a deadline stop fires by time, parent or hand, and knows which") {
  bench b;
  auto body = [&]() -> task<void> {
    const error cancelled(errc::cancelled, "recv");
    {
      deadline_stop by_time(deadline::in(5ms));
      CHECK(by_time.reason() == errc::ok);
      CHECK(by_time.explain(cancelled) == errc::cancelled);
      const status s = co_await sleep_for(1h, by_time.token());
      CHECK(s.error() == errc::cancelled);
      CHECK(by_time.stop_requested());
      CHECK(by_time.reason() == errc::deadline_exceeded);
      CHECK(by_time.explain(cancelled) == error(errc::deadline_exceeded, "recv"));
      CHECK(by_time.explain(errc::busy) == errc::busy);
      CHECK_FALSE(by_time.request_stop());
      CHECK(by_time.reason() == errc::deadline_exceeded);
    }
    {
      stop_source parent;
      deadline_stop by_parent(deadline::in(5ms), parent.token());
      auto stopper = [&]() -> task<void> {
        co_await sleep_for(1ms);
        parent.request_stop();
      };
      b.spawn(stopper());
      const status s = co_await sleep_for(1h, by_parent.token());
      CHECK(s.error() == errc::cancelled);
      CHECK(by_parent.reason() == errc::cancelled);
      CHECK(by_parent.explain(cancelled) == cancelled);
      co_await sleep_for(10ms);
      CHECK(by_parent.reason() == errc::cancelled);

      deadline_stop after_parent(deadline::in(-1ms), parent.token());
      CHECK(after_parent.reason() == errc::cancelled);
    }
    deadline_stop late(deadline(b.on.now()));
    CHECK(late.reason() == errc::deadline_exceeded);
    deadline_stop by_hand{deadline()};
    CHECK(by_hand.request_stop());
    CHECK(by_hand.reason() == errc::cancelled);
    deadline_stop in_time(deadline::in(1h));
    CHECK_FALSE(in_time.stop_requested());
  };
  const time_point start = b.on.now();
  run(b.on, body());
  CHECK(b.on.now() - start == 16ms);
  CHECK(b.on.idle());
}
