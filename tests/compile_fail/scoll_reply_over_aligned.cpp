// expect-error: a stricter alignment than operator new
#include "scoll/collective/service.hpp"

#ifdef SCOLL_CONTROL
struct answer {
#else
struct alignas(64) answer {
#endif
  std::uint64_t bytes;
};
struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {};
  using reply = answer;
  reply execute(const request&, scoll::bcast_context&) { return {}; }
  static void merge(reply&, const reply&) noexcept {}
};
static_assert(scoll::collective_service<service>);
