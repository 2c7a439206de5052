#include "ask.hpp"

scoll::task<bool> ask(scoll::group<count> all, bool some, scoll::bcast_options o) {
  auto r = co_await scoll::bcast(some ? all.alive() : all, {}, o);
  co_return r.ok();
}
