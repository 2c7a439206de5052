// expect-error: name the function object, and pass it to run\(\) or run_moved\(\)
#include <string>

#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
    std::string path;
  };
  scoll::task<scoll::status> execute(const request& r, scoll::bcast_context& c) {
#ifdef SCOLL_CONTROL
    auto hash = [path = r.path] { return path.size(); };
    auto done = co_await c.pool().run("hash", hash);
#else
    auto done = co_await c.pool().run("hash", [path = r.path] { return path.size(); });
#endif
    if (!done) co_return done.error();
    co_return scoll::status{};
  }
};
static_assert(scoll::collective_service<service>);
