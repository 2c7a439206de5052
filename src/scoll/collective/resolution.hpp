#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/offered_members.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/detail/service_entry.hpp"
#include "scoll/ids.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::detail {

/// The search for the members of one group, shared by all requests that wait for it: a call of a service's
/// `members` hook, a pull of the encoded members from a parent, or a question to a member.
struct resolution {
  group_id of;                             ///< of an out-of-band group without its digest
  std::shared_ptr<service_entry> service;  ///< whose hook is asked; null for a pull
  transport::region_descriptor from;       ///< of a pull
  node_id asked = 0;                       ///< a member that is asked who the others are; 0: nobody is
  gate_pass in_node;
  gate_pass in_service;
  stop_source stop;  ///< ends a pull; a hook runs to its end
  event done;

  // The result, once `done`:
  error failed;
  membership_ptr members;
  std::shared_ptr<offered_members> offered;  ///< of a pull: for the children of this node

  bool by_hook() const noexcept { return service != nullptr; }
};

}  // namespace scoll::detail
