// expect-error: has no merge, on_reply, finish, short_execute or reply_capacity
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
    std::uint32_t value;
  };
  using reply = scoll::parts<std::uint64_t>;
  scoll::task<scoll::status> execute(const request&, scoll::bcast_context&,
                                     scoll::part_sink<std::uint64_t>&) {
    co_return scoll::status();
  }
#ifndef SCOLL_CONTROL
  scoll::status finish(reply&, scoll::bcast_context&) { return {}; }
#endif
};
static_assert(scoll::collective_service<service>);
