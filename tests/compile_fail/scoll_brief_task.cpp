// expect-error: brief is for a service whose execute is a plain function, not a task
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  static constexpr bool brief = true;
  struct request {
    std::uint32_t value;
  };
#ifdef SCOLL_CONTROL
  void execute(const request&, scoll::call&) {}
#else
  scoll::task<scoll::status> execute(const request&, scoll::call&) { co_return scoll::status{}; }
#endif
};
static_assert(scoll::collective_service<service>);
