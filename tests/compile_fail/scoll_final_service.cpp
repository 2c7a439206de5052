// expect-error: a collective service must be a class that is not final
#include "scoll/collective/service.hpp"

#ifdef SCOLL_CONTROL
struct service {
#else
struct service final {
#endif
  static constexpr scoll::service_id id{0x0801};
  struct request {};
  void execute(const request&, scoll::bcast_context&) {}
};
static_assert(scoll::collective_service<service>);
