#include <string_view>

#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/class_index.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/lane.hpp"
#include "transport/session/limits.hpp"
#include "transport/session/rail_places.hpp"
#include "transport/session/session.hpp"

// A newer incarnation of a peer usually means that the peer has rebooted. It may also be a second server that
// was given the same id by mistake, which must not lock the first one out. A server that tells an address by
// which the peer is known is the peer. Any other waits until the earlier incarnation has not answered for a
// while.
namespace scoll::transport {

status session::admit_life(const identity& said) noexcept {
  const auto& control = lanes_[index(lane_id::control)];
  const bool known = has_place(said.rails, address_) || has_any_place(said.rails, paths_.get()) ||
                     hash_of(said.rails) == peer_places_;
  if (known || control == nullptr || !control->up()) return {};
  if (SCOLL_MUTANT(id_uncontested, "a second server with an id that is in use takes the place of the first"))
    return {};
  const time_point now = endpoint_.executor_.now();
  const bool asked = contested_since_ != time_point{} && last_contact_ < contested_since_;
  if (!asked) contested_since_ = now;
  if (now - contested_since_ >= limits::id_contest) return {};
  control->probe_now();
  const std::string_view claimed =
      said.rails.empty() ? "no address" : std::string_view(said.rails[0].address);
  return make_error(errc::id_in_use, "node id {} is in use at {:.44}, and {:.44} claims it", peer_, address_,
                    claimed);
}

}  // namespace scoll::transport
