// expect-error: a collective service must have a nested type: request
#include "scoll/collective/service.hpp"

struct question {};
struct service {
  static constexpr scoll::service_id id{0x0801};
#ifdef SCOLL_CONTROL
  using request = question;
#endif
  void execute(const question&, scoll::bcast_context&) {}
};
static_assert(scoll::collective_service<service>);
