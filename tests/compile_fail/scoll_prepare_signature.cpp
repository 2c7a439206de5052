// expect-error: prepare must be: task<status>
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
  scoll::status prepare(request&, scoll::bcast_context&) { return {}; }
#else
  reply execute(const request&, scoll::bcast_context&) { return {}; }
  bool prepare(request&, scoll::bcast_context&) { return true; }
#endif
};
static_assert(scoll::collective_service<service>);
