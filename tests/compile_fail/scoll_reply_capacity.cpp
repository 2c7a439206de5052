// expect-error: reply_capacity exceeds scoll::max_reply_bytes
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
#ifdef SCOLL_CONTROL
  static constexpr std::size_t reply_capacity = scoll::max_reply_bytes;
#else
  static constexpr std::size_t reply_capacity = scoll::max_reply_bytes + 1;
#endif
  struct request {};
  struct reply {
    scoll::set_union<std::uint32_t> values;
  };
  reply execute(const request&, scoll::bcast_context&) { return {}; }
};
static_assert(scoll::collective_service<service>);
