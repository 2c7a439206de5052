#pragma once

#include "scoll/collective/group_timing.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/detail/addressees.hpp"
#include "scoll/node_options.hpp"
#include "transport/session/session.hpp"

namespace scoll::detail {

class engine;

/// The round trip that is allowed for a child, as `node_options::rtt_estimate` and `measured_rtt` say.
nanoseconds round_trip_to(const node_options& options, const transport::session& child) noexcept;

/// What `group::timing` says.
group_timing timing_of(const engine& at, const addressees& to);

}  // namespace scoll::detail
