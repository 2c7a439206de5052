#include "transport/verbs/verbs_options.hpp"

#include "scoll/coro/error_format.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/verbs/slot_credit.hpp"

namespace scoll::transport {

status verbs_options::validate() const {
  const std::uint32_t promised = receive_slots - verbs::slot_budget(receive_slots).holdable();
  if (link_slots < verbs::least_slots || link_slots > verbs::slot_news::most_given_back) {
    return make_error(errc::invalid_argument, "verbs.link_slots is {}: {} to {} are allowed", link_slots,
                      verbs::least_slots, verbs::slot_news::most_given_back);
  }
  if (link_slots > promised) {
    return make_error(errc::invalid_argument,
                      "verbs.link_slots is {}, more than three quarters of verbs.receive_slots, {}",
                      link_slots, receive_slots);
  }
  if (port == 0 || send_slabs == 0 || send_buffers == 0 || frame_buffers == 0 || handshake_limit == 0) {
    return error(errc::invalid_argument,
                 "verbs: the port, send slabs, buffers and the handshake limit must be greater than 0");
  }
  if (windows != 0 && (windows < most_extents || windows > most_windows)) {
    return make_error(errc::invalid_argument, "verbs.windows is {}: 0, or {} to {} are allowed", windows,
                      most_extents, most_windows);
  }
  if (read_depth != 0 && read_bytes == 0)
    return error(errc::invalid_argument, "verbs.read_bytes is 0: set verbs.read_depth to 0 for no READs");
  return {};
}

}  // namespace scoll::transport
