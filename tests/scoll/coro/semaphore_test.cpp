#include "scoll/coro/semaphore.hpp"

#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;

namespace {

task<void> take(semaphore& s, std::size_t n, const char* who, log_of& log, stop_token stop) {
  const status got = co_await s.acquire(n, stop);
  add(log, who, got);
}

}  // namespace

TEST_CASE("a semaphore serves first come first served, and small requests do not overtake") {
  bench b;
  semaphore s(2);
  log_of log;
  b.spawn(take(s, 2, "a", log, {}));
  b.spawn(take(s, 3, "big", log, {}));
  b.spawn(take(s, 1, "small", log, {}));
  b.run();
  CHECK(log == log_of{"a:ok"});
  CHECK(s.has_waiters());
  CHECK_FALSE(s.try_acquire(0));
  s.release(2);
  CHECK(s.available() == 2);
  CHECK_FALSE(s.try_acquire(1));
  b.run();
  CHECK(log.size() == 1);
  s.release(1);
  b.run();
  CHECK(log == log_of{"a:ok", "big:ok"});
  s.release(3);
  b.run();
  CHECK(log == log_of{"a:ok", "big:ok", "small:ok"});
  CHECK(s.available() == 2);
  CHECK(s.try_acquire(2));
  CHECK_FALSE(s.try_acquire());
}

TEST_CASE("a semaphore wait is cancelled before, during and not after, and those behind it go on") {
  bench b;
  semaphore s(1);
  log_of log;
  stop_source before, during, after;
  before.request_stop();
  b.spawn(take(s, 1, "before", log, before.token()));
  b.spawn(take(s, 5, "during", log, during.token()));
  b.spawn(take(s, 1, "behind", log, {}));
  b.spawn(take(s, 1, "after", log, after.token()));
  b.run();
  CHECK(log == log_of{"before:cancelled"});
  CHECK(s.available() == 1);
  during.request_stop();
  b.run();
  CHECK(log == log_of{"before:cancelled", "during:cancelled", "behind:ok"});
  CHECK(s.available() == 0);
  s.release();
  after.request_stop();
  b.run();
  CHECK(log.back() == "after:ok");
  CHECK(s.available() == 0);
}
