// expect-error: the reply cannot be encoded
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {};
  struct reply {
#ifdef SCOLL_CONTROL
    std::string text;
#else
    std::string_view text;
#endif
  };
  reply execute(const request&, scoll::bcast_context&) { return {}; }
  static void merge(reply&, const reply&) noexcept {}
};
static_assert(scoll::collective_service<service>);
