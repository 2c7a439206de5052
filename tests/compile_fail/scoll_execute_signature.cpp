// expect-error: execute must be: task<result<reply>>
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
  reply execute(const request&) { return {}; }
#endif
};
static_assert(scoll::collective_service<service>);
