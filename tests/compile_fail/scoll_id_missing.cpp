// expect-error: static constexpr scoll::service_id id
#include "scoll/collective/service.hpp"

struct service {
#ifdef SCOLL_CONTROL
  static constexpr scoll::service_id id{0x0801};
#else
  static constexpr int id = 0x0801;
#endif
  struct request {};
  void execute(const request&, scoll::bcast_context&) {}
};
static_assert(scoll::collective_service<service>);
