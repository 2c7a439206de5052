#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"

namespace scoll {

inline task<int> value_of(int x) {
  co_return x;
}
inline task<int> later(int x, nanoseconds d) {
  co_await sleep_for(d);
  co_return x;
}
inline task<int> thrower(nanoseconds d, const char* what) {
  if (d > nanoseconds::zero()) co_await sleep_for(d);
  throw std::runtime_error(what);
}
inline task<void> note(std::vector<int>& log, int number, nanoseconds d) {
  if (d > nanoseconds::zero()) co_await sleep_for(d);
  log.push_back(number);
}
inline task<status> stoppable(nanoseconds d, stop_token stop) {
  co_return co_await sleep_for(d, stop);
}
inline task<status> answers_at_once(stop_token) {
  co_return status();
}
inline task<std::string> deaf(nanoseconds d) {
  co_await sleep_for(d);
  co_return "done";
}

}  // namespace scoll
