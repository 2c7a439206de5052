#pragma once

#include <cstddef>
#include <type_traits>
#include <variant>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/plan/fault_events.hpp"
#include "tools/scoll-sim/plan/guard_events.hpp"
#include "tools/scoll-sim/plan/policy_events.hpp"
#include "tools/scoll-sim/plan/user_events.hpp"
#include "tools/scoll-sim/plan/world_events.hpp"

// The kinds of events in a run: one struct each, whose members are its operands in the order of a script. Numbers of
// hosts count from 0. `fault` says whether it may explain a failure.
namespace scoll::sim {

/// What happens. The order of the kinds is part of every trace hash: a new kind comes last.
using happening = std::variant<
    events::wires, events::clock, events::two_rails, events::old_servers, events::gossip, events::group,
    events::adopt, events::bcast, events::manner, events::hooks, events::subset, events::cancel,
    events::destroy, events::stray, events::call, events::haul, events::call_stop, events::boot, events::cut,
    events::half_open, events::block, events::partition, events::slow, events::narrow, events::corrupt,
    events::refuse, events::stall, events::crash, events::cut_after, events::storm, events::bulk_outage,
    events::repeat_connects, events::lossy, events::verdict, events::bulk_narrow, events::last,
    events::settle, events::mapped, events::agree, events::shrink, events::revoke, events::within,
    events::freight, events::remote_memory, events::lose_all, events::clients, events::rails,
    events::rail_down, events::remote_bcast, events::guards, events::rekey, events::forge, events::outsider,
    events::zones, events::policy, events::reading, events::node_memory>;

/// An event and its time in the world.
struct plan_event {
  nanoseconds at{0};
  happening what;
};

/// The place of a kind of event in `happening`.
template <class Event, std::size_t I = 0>
constexpr std::size_t index_of_event() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, happening>, Event>) {
    return I;
  } else {
    return index_of_event<Event, I + 1>();
  }
}
template <class Event>
inline constexpr std::size_t event_index = index_of_event<Event>();

inline bool is_fault(const happening& e) {
  return std::visit([](const auto& what) { return what.fault; }, e);
}

}  // namespace scoll::sim
