// expect-error: execute of a service that streams its reply must be: task<status> execute
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
    std::uint32_t value;
  };
  using reply = scoll::parts<std::uint64_t>;
#ifdef SCOLL_CONTROL
  scoll::task<scoll::status> execute(const request&, scoll::bcast_context&,
                                     scoll::part_sink<std::uint64_t>&) {
    co_return scoll::status();
  }
#else
  scoll::task<scoll::status> execute(const request&, scoll::bcast_context&) { co_return scoll::status(); }
#endif
};
static_assert(scoll::collective_service<service>);
