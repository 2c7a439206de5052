// expect-error: a reply outlives the message it came in
#include "scoll/collective/service.hpp"

struct service {
  static constexpr scoll::service_id id{0x0801};
  struct request {
    scoll::wire::borrowed_string name;
  };
  struct line {
#ifdef SCOLL_CONTROL
    std::string text;
#else
    scoll::wire::borrowed_string text;
#endif
  };
  struct reply {
    std::vector<std::pair<int, line>> lines;
  };
  reply execute(const request&, scoll::bcast_context&) { return {}; }
  static void merge(reply&, const reply&) noexcept {}
};
static_assert(scoll::collective_service<service>);
