// expect-error: a collective service must have a hook: execute
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
    std::uint32_t value;
  };
  struct reply {
    scoll::sum<std::uint64_t> bytes;
  };
#ifdef SCOLL_CONTROL
  reply execute(const request&, scoll::bcast_context&) { return {}; }
#else
  reply run(const request&, scoll::bcast_context&) { return {}; }
#endif
};
static_assert(scoll::collective_service<service>);
