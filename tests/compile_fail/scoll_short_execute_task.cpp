// expect-error: short_execute is for a service whose execute is a plain function, not a task
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  static constexpr bool short_execute = true;
  struct request {
    std::uint32_t value;
  };
#ifdef SCOLL_CONTROL
  void execute(const request&, scoll::bcast_context&) {}
#else
  scoll::task<scoll::status> execute(const request&, scoll::bcast_context&) { co_return scoll::status{}; }
#endif
};
static_assert(scoll::collective_service<service>);
