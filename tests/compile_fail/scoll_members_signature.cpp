// expect-error: members must be: task<result<membership_ptr>>
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
    std::uint32_t value;
  };
  static void execute(const request&, scoll::bcast_context&) {}
#ifdef SCOLL_CONTROL
  scoll::result<scoll::membership_ptr> members(std::uint64_t) { return scoll::membership::none(); }
#else
  scoll::membership_ptr members(std::uint64_t) { return scoll::membership::none(); }
#endif
};
static_assert(scoll::collective_service<service>);
