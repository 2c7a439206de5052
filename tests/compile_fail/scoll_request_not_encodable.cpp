// expect-error: the request cannot be encoded
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
#ifdef SCOLL_CONTROL
    std::uint32_t value;
#else
    std::uint32_t* value;
#endif
  };
  void execute(const request&, scoll::bcast_context&) {}
};
static_assert(scoll::collective_service<service>);
