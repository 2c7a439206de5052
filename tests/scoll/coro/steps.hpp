#pragma once

#include <string>
#include <utility>
#include <vector>

#include "scoll/coro/event.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/coro/task.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll {

/// A virtual executor with a scope; `run` gives every ready coroutine its turn without advancing time.
class bench {
 public:
  bench() : tasks(on) {}
  ~bench() {
    auto join = [this]() -> task<void> { co_await tasks.join(); };
    scoll::run(on, join());
  }
  bench(const bench&) = delete;
  bench& operator=(const bench&) = delete;

  void spawn(task<void> t) { tasks.spawn(std::move(t)); }
  void run() { on.run_now(); }

  testing::virtual_executor on;
  scope tasks;
};

using log_of = std::vector<std::string>;

inline void add(log_of& log, const char* who, const status& s) {
  log.push_back(std::string(who) + ":" + std::string(s ? "ok" : to_string(s.error().code())));
}

inline task<void> wait_for(event& e, const char* who, log_of& log, stop_token stop) {
  const status s = co_await e.wait(stop);
  add(log, who, s);
}

}  // namespace scoll
