// expect-error: replies need merge
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {};
  struct reply {
    scoll::sum<std::uint64_t> bytes;
#ifdef SCOLL_CONTROL
    scoll::maximum<std::uint32_t> age;
#else
    std::uint32_t age;
#endif
  };
  reply execute(const request&, scoll::bcast_context&) { return {}; }
};
static_assert(scoll::collective_service<service>);
