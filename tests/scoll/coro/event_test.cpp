#include "scoll/coro/event.hpp"

#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;

TEST_CASE("an event wakes its waiters in order, in a later step, and stays set") {
  bench b;
  event e;
  log_of log;
  b.spawn(wait_for(e, "a", log, {}));
  b.spawn(wait_for(e, "b", log, {}));
  b.run();
  CHECK(log.empty());
  e.set();
  CHECK(log.empty());  // never inline
  e.reset();
  b.run();
  CHECK(log == log_of{"a:ok", "b:ok"});
  CHECK_FALSE(e.is_set());
  b.spawn(wait_for(e, "c", log, {}));
  b.run();
  CHECK(log.size() == 2);
  e.set();
  b.spawn(wait_for(e, "d", log, {}));
  b.run();
  CHECK(log == log_of{"a:ok", "b:ok", "c:ok", "d:ok"});
}

TEST_CASE("an event wait is cancelled before, during and not after") {
  bench b;
  event e;
  log_of log;
  stop_source before, during, after;
  before.request_stop();
  b.spawn(wait_for(e, "before", log, before.token()));
  b.spawn(wait_for(e, "during", log, during.token()));
  b.spawn(wait_for(e, "after", log, after.token()));
  b.spawn(wait_for(e, "other", log, {}));
  b.run();
  CHECK(log == log_of{"before:cancelled"});
  during.request_stop();
  CHECK(log.size() == 1);
  b.run();
  CHECK(log == log_of{"before:cancelled", "during:cancelled"});
  e.set();
  after.request_stop();  // already woken but not resumed: the result stands
  b.run();
  CHECK(log == log_of{"before:cancelled", "during:cancelled", "after:ok", "other:ok"});
  b.spawn(wait_for(e, "set, but stopped", log, before.token()));
  b.run();
  CHECK(log.back() == "set, but stopped:cancelled");
}
